// Whatever locale a program chooses, what Nyala writes and reads is that of the C locale.
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/schedules/all.h>
#include <nyala/api/utils/progress_bar.h>
#include <nyala/api/utils/to_categorical.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/datasets/load_csv.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala {
namespace {

using Texts = std::map<std::string, std::string>;

/// Streams and C functions with a decimal comma, and a Turkish i, as long as it lives.
class OtherLocale {
 public:
  explicit OtherLocale(const std::string& name) : streams_(std::locale(std::locale::classic(), new Comma)) {
    std::locale::global(streams_);
    found_ = std::setlocale(LC_ALL, (name + ".UTF-8").c_str()) || compiled(name);
  }
  ~OtherLocale() {
    std::setlocale(LC_ALL, "C");
    std::locale::global(std::locale::classic());
  }

  /// False where the system has neither this locale nor what makes one: then only streams are in it.
  bool c_functions() const { return found_; }

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  bool compiled(const std::string& name) {
    const std::string place = folder_.file(name + ".UTF-8");
    const std::string command = "localedef -i " + name + " -f UTF-8 '" + place + "' > /dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return false;
    ::setenv("LOCPATH", folder_.path().c_str(), 1);
    const bool found = std::setlocale(LC_ALL, (name + ".UTF-8").c_str()) != nullptr;
    ::unsetenv("LOCPATH");
    return found;
  }

  ScratchFolder folder_{"locale"};
  std::locale streams_;
  bool found_ = false;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string streamed(const Tensor& x) {
  std::ostringstream out;
  out << x << " " << x.shape();
  return out.str();
}

std::string bar_text() {
  std::ostringstream out;
  double time = 1000;
  ProgressBar bar({.target = 12345, .display = ProgressDisplay::dynamic, .stream = &out, .clock = [&] {
                     return time += 1234.5;
                   }});
  for (const int64_t step : {1, 2500, 12345}) {
    const ProgressBar::Value values[] = {{"loss", 1234.5678}, {"small", 1.5e-4}};
    bar.update(step, values);
  }
  return out.str();
}

/// A model that is trained a little, its files and everything that is said about it.
Texts everything() {
  const ScratchFolder folder("locale_texts");
  Texts texts;
  set_random_seed(5);
  clear_session();
  Sequential net({Input({50}), Dense(1234, {.activation = "relu"}), Dropout(0.25), Dense(1)},
                 {.name = "net"});
  net.compile({.optimizer = Adam(ExponentialDecay(0.0125, 1000, 0.96)), .loss = "mse"});
  const Tensor x = Tensor::ones({8, 50}), y = Tensor::ones({8, 1});
  net.fit(x, y,
          {.epochs = 2,
           .verbose = 0,
           .callbacks = {CSVLogger(folder.file("log.csv")),
                         ModelCheckpoint(folder.file("at_{loss:.3f}_{epoch:02d}.weights.h5"),
                                         {.monitor = "loss", .save_weights_only = true})}});
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    texts["files"] += entry.path().filename().string() + "\n";
  net.save_weights(folder.file("net.weights.h5"));
  net.save(folder.file("net.keras"));
  save_npy(folder.file("x.npy"), Tensor::arange(2000).reshape({2, 1000}));
  texts["csv"] = bytes_of(folder.file("log.csv"));
  texts["npy"] = bytes_of(folder.file("x.npy"));
  texts["weights"] = bytes_of(folder.file("net.weights.h5"));
  texts["json"] = net.to_json();
  texts["summary"] = net.summary_text();
  texts["bar"] = bar_text();
  texts["tensor"] = streamed(Tensor({{0.5, 1234567.0}, {1e-9, -2.25}})) + streamed(Tensor::ones({1, 1000}));
  const Model back = load_model(folder.file("net.keras"));
  texts["predictions"] = streamed(back.predict(x, {.verbose = 0})) + streamed(load_npy(folder.file("x.npy")));
  std::ofstream(folder.file("table.csv")) << "1.5,2e-3\n1234.25,-0.5\n";
  texts["table"] = streamed(load_csv(folder.file("table.csv")));
  texts["errors"] = error_text<Error>([] { Dropout(1.5); }) +
                    error_text<Error>([] { ops::clip(Tensor::ones({1}), 0.5, 0.25); }) +
                    error_text<Error>([] {
                      to_categorical(Tensor({1.5, 2.0}));
                    }) +
                    error_text<Error>([] {
                      L2(-0.5);
                      L2(1.0 / 0.0);
                    });
  texts["names"] = Optimizer("RMSPROP").node().class_name() + Dense(1).name() +
                   detail::snake_case("InceptionIdentityI") + detail::lower_case("TITLE I") +
                   Device("/DEVICE:CPU:0").to_string();
  return texts;
}

void compare(const Texts& expected, const Texts& found) {
  for (const auto& [name, text] : expected) {
    EXPECT_NE(text, "") << name;
    EXPECT_TRUE(found.at(name) == text) << name << "\n"
                                        << text.substr(0, 2000) << "\n"
                                        << found.at(name).substr(0, 2000);
  }
}

TEST(Locale, ACommaIsNowhere) {
  const Texts expected = everything();
  const OtherLocale german("de_DE");
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  EXPECT_EQ(std::string(text), german.c_functions() ? "0,5" : "0.5");
  std::ostringstream stream;
  stream << 1234.5;
  EXPECT_EQ(stream.str(), "1.234,5");
  compare(expected, everything());
}

TEST(Locale, ATurkishIIsNone) {
  const Texts expected = everything();
  const OtherLocale turkish("tr_TR");
  compare(expected, everything());
}

TEST(Locale, NumbersAreThoseOfPrintfInTheCLocale) {
  for (const double value : {0.0, -0.0, 1.0, 0.1, 1e-5, 123456789.125, -1e300, 5e-324, 0.5, 2.5}) {
    for (const int digits : {0, 1, 3, 17}) {
      char expected[512];
      std::snprintf(expected, sizeof expected, "%.*f", digits, value);
      EXPECT_EQ(detail::fixed_text(value, digits), expected);
      std::snprintf(expected, sizeof expected, "%.*e", digits, value);
      EXPECT_EQ(detail::scientific_text(value, digits), expected);
      std::snprintf(expected, sizeof expected, "%.*g", digits, value);
      EXPECT_EQ(detail::general_text(value, digits), expected);
    }
    EXPECT_EQ(detail::parse_number(detail::number_text(value)), value);
  }
  EXPECT_EQ(detail::number_text(0.1f), "0.1");
  for (const char* text : {"", " 1", "1 ", "1,5", "0x10", "one", "1e999"})
    EXPECT_EQ(detail::parse_number(text), std::nullopt) << text;
}

}  // namespace
}  // namespace nyala
