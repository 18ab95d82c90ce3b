// What Keras saved with classes and functions of the user's, against the same classes here.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/api/saving/custom_objects.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

using namespace custom;

Tensor waves(const Shape& shape, double (*wave)(double)) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(wave(static_cast<double>(i))));
  return Tensor::from(values, shape);
}

/// The file's training goes on here as it does in Keras.
void expect_goes_on() {
  const Json golden = load("custom_objects.json");
  const Model model = load_model((directory() / "custom_objects.keras").string(),
                                 {.custom_objects = {{"Net", custom_object<Net>()},
                                                     {"pkg>MyLoss", custom_object<MyLoss>()},
                                                     {"MyMetric", custom_object<MyMetric>()},
                                                     {"MyOptimizer", custom_object<MyOptimizer>()},
                                                     {"MySchedule", custom_object<MySchedule>()},
                                                     {"MyInitializer", custom_object<MyInitializer>()},
                                                     {"MyRegularizer", custom_object<MyRegularizer>()},
                                                     {"MyConstraint", custom_object<MyConstraint>()},
                                                     {"my_activation", my_activation},
                                                     {"my_loss", my_loss}}});
  const Tensor x = waves({23, 3}, std::sin), y = waves({23, 1}, std::cos);
  const auto expect_predicts = [&](const Json& expected, const char* what) {
    const std::vector<double> got = to_doubles(model.predict(x, {.verbose = 0})), wanted = numbers(expected);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i], what, {1e-5, 1e-5});
  };
  expect_predicts(golden["before"], "before");
  const History history = model.fit(x, y, {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
  for (const auto& [name, values] : golden["history"].items())
    for (size_t epoch = 0; epoch < values.size(); ++epoch)
      expect_close(history[name][epoch], number(values[epoch]), name, {1e-5, 1e-5});
  expect_predicts(golden["after"], "after");
}

/// A warning about what Keras always writes would teach users to look away.
TEST(CustomObjects, KerasFilesHaveNoUnknownOptions) {
  std::vector<std::string> unknown;
  set_log_sink([&](LogChannel, std::string_view text) {
    if (text.find("not known here") != std::string_view::npos) unknown.emplace_back(text);
  });
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    const std::string path = entry.path().string();
    const bool whole = path.ends_with(".keras") || (path.ends_with(".h5") && !path.ends_with(".weights.h5"));
    if (!whole || path.ends_with("custom_objects.keras") || path.ends_with("own_optimizers.keras")) continue;
    load_model(path);
    ++loaded;
  }
  set_log_sink({});
  EXPECT_GT(loaded, 50);
  EXPECT_TRUE(unknown.empty()) << unknown[0];
}

TEST(CustomObjects, TrainingGoesOnFromKerasFile) { expect_goes_on(); }

TEST(CustomObjects, TrainingGoesOnFromKerasFileOnTwoReplicas) {
  configure_logical_devices("cpu", 2);
  {
    const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
    const auto scope = two.scope();
    expect_goes_on();
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace
}  // namespace nyala::golden
