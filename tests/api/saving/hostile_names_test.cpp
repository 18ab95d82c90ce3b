// Names in a file that would command a terminal, or add lines to a log: written wherever they are shown.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {

using namespace nyala::detail;
namespace {

const std::string kHostile = "a\x1b[31m\nERROR: b\r\xc2\x9b" "2J\x7f";

void expect_harmless(const std::string& text, const std::string& what) {
  EXPECT_EQ(printable(text, true), text) << what;
  EXPECT_EQ(text.find("\nERROR"), std::string::npos) << what << ": " << text;
}

TEST(ErrorText, ControlCharactersAreWrittenAndOurLinesStay) {
  Error error("two\nlines\tof \x1b[2J and \x9b");
  EXPECT_STREQ(error.what(), "two\nlines\tof \\x1b[2J and \\x9b");
  error.put_in_front("m\x1b: ");
  EXPECT_STREQ(error.what(), "m\\x1b: two\nlines\tof \\x1b[2J and \\x9b");
  EXPECT_EQ(in_quotes("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(in_quotes(std::string(300, 'x')), "'" + std::string(200, 'x') + "...'");
  EXPECT_EQ(did_you_mean("dens\n", {"dense\n"}), " (did you mean 'dense\\x0a'?)");
}

class HostileNames : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](LogChannel, std::string_view text) { logged_ += text; });
    const Model model =
        Sequential({Input({3}), Dense(4, {.name = kHostile}), Dense(2, {.name = "out" + kHostile})},
                   {.name = "model" + kHostile});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    model.save(path_);
  }
  void TearDown() override { set_log_sink({}); }

  template <class F>
  void expect_harmless_error(const std::string& what, F&& f) {
    try {
      f();
      FAIL() << what << ": nothing was thrown";
    } catch (const Error& error) {
      expect_harmless(error.what(), what);
    }
  }

  ScratchFolder folder_{"hostile"};
  std::string path_ = folder_.file("m.keras"), logged_;
};

TEST_F(HostileNames, InErrorsAndSummaries) {
  const Model model = load_model(path_);
  EXPECT_EQ(model.layers()[0].name(), kHostile) << "the name itself stays";
  expect_harmless(model.summary_text(), "summary");
  const Tensor x = Tensor::ones({4, 3}), y = Tensor::ones({4, 2}), wide = Tensor::ones({4, 5});
  expect_harmless_error("predict", [&] { model.predict(wide, {.verbose = 0}); });
  expect_harmless_error("call", [&] { model(wide); });
  expect_harmless_error("fit", [&] { model.fit(x, wide, {.verbose = 0}); });
  expect_harmless_error("evaluate", [&] { model.evaluate(wide, y, {.verbose = 0}); });
  expect_harmless_error("get_layer", [&] { model.get_layer("a"); });
  expect_harmless_error("load_weights", [&] {
    const Model other = Sequential({Input({3}), Dense(5, {.name = kHostile}), Dense(2)});
    other.load_weights(path_);
  });
  expect_harmless_error("two of one name", [&] {
    Sequential({Input({3}), Dense(4, {.name = kHostile}), Dense(4, {.name = kHostile})});
  });
  expect_harmless_error("safetensors", [&] {
    model.save_weights(folder_.file("m.safetensors"));
    const Model other =
        Sequential({Input({3}), Dense(5, {.name = kHostile}), Dense(2, {.name = "out" + kHostile})},
                   {.name = "model" + kHostile});
    other.load_weights(folder_.file("m.safetensors"));
  });
  EXPECT_NE(std::string::npos, logged_.size());
  expect_harmless(logged_, "log");
}

TEST_F(HostileNames, ThatAreOptionsOfLayers) {
  for (const char* key : {"activation", "dtype", "kernel_initializer"}) {
    const std::string text = R"({"class_name": "Sequential", "config": {"layers": [)"
                             R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 2]}},)"
                             R"({"class_name": "Dense", "config": {"units": 2, ")" +
                             std::string(key) + R"(": "a\u001b[31m\nERROR: b\r\u009b2J"}}]}})";
    expect_harmless_error(key, [&] { model_from_json(text); });
  }
  expect_harmless_error("registered name", [] {
    model_from_json(R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Own",
        "registered_name": "a\u001b[31m\nERROR: b", "config": {"name": "own"}}]}})");
  });
  expect_harmless_error("class", [] {
    model_from_json(
        R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "D\u001b\nERROR", "config": {}}]}})");
  });
}

TEST_F(HostileNames, AModelOfAFileNamesItInErrorsOfItsCalls) {
  const Model model = load_model(path_);
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { model.predict(Tensor::ones({4, 5}), {.verbose = 0}); },
           [&] { model.fit(Tensor::ones({4, 5}), Tensor::ones({4, 2}), {.verbose = 0}); },
           [&] { model.train_on_batch(Tensor::ones({4, 3}), Tensor::ones({4, 7})); }}) {
    try {
      call();
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace nyala
