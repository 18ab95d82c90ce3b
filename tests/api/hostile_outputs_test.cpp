// Names that nobody would choose, in everything that shows or keeps them: what a terminal gets is harmless,
// what a file keeps is read back as it was, and what cannot be kept is a typed error.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/progress_bar.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/printable.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

const std::vector<std::string>& hostile_names() {
  static const auto& names = *new std::vector<std::string>{
      "esc\x1b[2J\x1b]0;title\x07",
      "two\nlines\r\nof\rthem",
      std::string("nul\0inside", 10),
      "no utf8 \xff\xfe\xc3(",
      "c1 \xc2\x9b" "31m",
      "quote\" and, comma; \"\"",
      "tab\tand\\backslash",
      " spaces ",
      "{\"json\": 1}\\u0000%s%n",
      std::string(1 << 20, 'x')};
  return names;
}

std::string shown(const std::string& name) { return printable(name.substr(0, 40)); }

void expect_harmless(const std::string& text, const std::string& what) {
  EXPECT_EQ(printable(text, true), text) << what;
}

/// Without the colours that the bar itself has.
std::string without_own_escapes(std::string text) {
  for (const std::string own : {"\x1b[1m", "\x1b[32m", "\x1b[37m", "\x1b[0m"})
    for (size_t at = text.find(own); at != std::string::npos; at = text.find(own)) text.erase(at, own.size());
  std::erase(text, '\b');
  return text;
}

TEST(HostileOutputs, ProgressBar) {
  for (const std::string& name : hostile_names()) {
    for (const auto display : {ProgressDisplay::dynamic, ProgressDisplay::plain}) {
      std::ostringstream out;
      ProgressBar bar({.target = 2, .display = display, .stream = &out, .clock = [] { return 1.0; }});
      const ProgressBar::Value values[] = {{name, 0.5}};
      bar.update(1, values);
      bar.update(2, values);
      std::string text = without_own_escapes(out.str());
      std::erase(text, '\r');
      expect_harmless(text, shown(name));
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << shown(name);
      EXPECT_NE(text.find(printable(name) + ": 0.5000"), std::string::npos) << shown(name);
    }
  }
}

TEST(HostileOutputs, Summary) {
  for (const std::string& name : hostile_names()) {
    const Sequential model({Input({2}), Dense(1, {.name = name})}, {.name = "model" + name});
    const std::string text = model.summary_text();
    expect_harmless(text, shown(name));
    std::istringstream lines(text);
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
      if (count == 0) continue;  // the model's own name stands there whole
      EXPECT_LT(line.size(), 500u) << shown(name);
    }
    EXPECT_LT(count, 13) << text.substr(0, 2000);
  }
}

/// RFC 4180, as Python's csv reads it.
std::vector<std::vector<std::string>> read_csv(const std::string& text, char separator) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cell += text[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == separator) {
      rows.back().push_back(std::exchange(cell, {}));
    } else if (!is_quoted && text.compare(i, 2, "\r\n") == 0) {
      rows.back().push_back(std::exchange(cell, {}));
      rows.emplace_back();
      ++i;
    } else {
      cell += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(HostileOutputs, CsvLoggerQuotesWhatItMust) {
  const ScratchFolder folder("csv");
  const std::string path = folder.file("log.csv");
  std::vector<std::string> names = hostile_names();
  std::sort(names.begin(), names.end());
  for (const std::string separator : {",", ";", "\t", " ", "x"}) {
    CSVLogger logger(path, {.separator = separator});
    Model model = Sequential({Input({2}), Dense(1)});
    logger.attach({&model, {}});
    Logs none, logs;
    for (size_t i = 0; i < names.size(); ++i) {
      logs.set(names[i], std::vector<double>{static_cast<double>(i)});
      logs.set("val_" + names[i], std::vector<double>{0.5, 1.5});
    }
    logger.on_train_begin(none);
    logger.on_epoch_end(0, logs);
    logger.on_train_end(none);
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto rows = read_csv(text, separator[0]);
    ASSERT_EQ(rows.size(), 2u);
    ASSERT_EQ(rows[0].size(), 1 + 2 * names.size());
    ASSERT_EQ(rows[1].size(), rows[0].size());
    for (const std::string& name : names) {
      const auto place = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
      ASSERT_LT(place, std::ssize(rows[0])) << shown(name);
      EXPECT_EQ(std::stod(rows[1][static_cast<size_t>(place)]),
                std::find(names.begin(), names.end(), name) - names.begin());
    }
  }
}

TEST(HostileOutputs, CsvLoggerRefusesSeparatorsThatCannotSeparate) {
  for (const std::string separator : {"\"", "\n", "\r", "", ",,"})
    EXPECT_THROW(CSVLogger("x.csv", {.separator = separator}), InvalidArgumentError) << printable(separator);
}

/// Kept as it is, or refused by a typed error that shows nothing harmful; never another name.
TEST(HostileOutputs, FilesKeepNamesOrRefuseThem) {
  const ScratchFolder folder("names");
  for (const std::string& name : hostile_names()) {
    const Model model = Sequential({Input({2}), Dense(1, {.name = name})}, {.name = "m" + name});
    model.compile({.optimizer = "adam", .loss = "mse"});
    for (const char* end : {".keras", ".h5", ".weights.h5", ".safetensors", ".npz"}) {
      const std::string path = folder.file(std::string("m") + end), what = shown(name) + end;
      const bool whole = std::string(end) == ".keras" || std::string(end) == ".h5";
      try {
        if (whole)
          model.save(path);
        else
          model.save_weights(path);
        if (whole) {
          const Model loaded = load_model(path);
          EXPECT_EQ(loaded.layers()[0].name(), name) << what;
          EXPECT_EQ(loaded.name(), "m" + name) << what;
        } else {
          model.load_weights(path);
        }
      } catch (const Error& error) {
        expect_harmless(error.what(), what);
        EXPECT_LT(std::string(error.what()).size(), 10'000u) << what;
      }
    }
    try {
      EXPECT_EQ(model_from_json(model.to_json()).layers()[0].name(), name) << shown(name);
    } catch (const Error& error) {
      expect_harmless(error.what(), shown(name));
    }
  }
}

}  // namespace
}  // namespace nyala
