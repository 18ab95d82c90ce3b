// Metrics with a value for each class or threshold. Numbers of Keras 3.15: Dense(3, softmax, all kernels 0.1,
// biases 1) gives every class 1/3.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/callbacks/csv_logger.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::several_values_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Tensor kX = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2});
const Tensor kY = Tensor::from(std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}, {5, 3});

Sequential model_of_thirds() {
  Sequential model({Input({2}), Dense(3, {.activation = "softmax",
                                          .kernel_initializer = Constant(0.1),
                                          .bias_initializer = "ones"})});
  model.compile(
      {.optimizer = SGD(0.0),
       .loss = "categorical_crossentropy",
       .metrics = {metrics::F1Score(), metrics::Precision({.thresholds = {0.1, 0.5}, .name = "p"})}});
  return model;
}

auto near(double value) { return DoubleNear(value, 1e-6); }

TEST(SeveralValues, AreAllInTheLogs) {
  const Sequential model = model_of_thirds();
  const Logs logs = model.evaluate(kX, kY, {.verbose = 0});
  EXPECT_THAT(logs.values("f1_score"), ElementsAre(near(0.57142854), near(0.57142854), near(0.33333328)));
  EXPECT_THAT(logs.values("p"), ElementsAre(near(1 / 3.0), near(0)));
  EXPECT_THAT(logs.values("loss"), ElementsAre(near(1.0986123)));
  EXPECT_NEAR(logs["loss"], 1.0986123, 1e-6);
  EXPECT_THAT(error_text<StateError>([&] { (void)logs["f1_score"]; }), HasSubstr("has 3 values"));
  for (const auto& [name, value] : logs)
    if (name == "p") {
      EXPECT_NEAR(value, 1 / 6.0, 1e-6);
    }
}

TEST(SeveralValues, AreAllInTheHistory) {
  const Sequential model = model_of_thirds();
  const History history = model.fit(kX, kY, {.epochs = 2, .verbose = 0, .validation_data = {kX, kY}});
  for (const char* name : {"p", "val_p"}) {
    ASSERT_EQ(history.values(name).size(), 2u);
    for (const auto& epoch : history.values(name)) EXPECT_THAT(epoch, ElementsAre(near(1 / 3.0), near(0)));
  }
  EXPECT_EQ(history["val_loss"].size(), 2u);
  EXPECT_THAT(error_text<StateError>([&] { (void)history["p"]; }), HasSubstr("values(\"p\")"));
  EXPECT_THROW(history.values("q"), NotFoundError);
}

TEST(SeveralValues, ReplicasGiveTheSame) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Sequential model = strategy.scope(model_of_thirds);
  EXPECT_THAT(model.evaluate(kX, kY, {.verbose = 0}).values("f1_score"),
              ElementsAre(near(0.57142854), near(0.57142854), near(0.33333328)));
}

TEST(SeveralValues, TheProgressLineShowsTheirMeanAndTheTableAll) {
  const std::string path = (std::filesystem::temp_directory_path() / "nyala_several_values.csv").string();
  const Sequential model = model_of_thirds();
  ::testing::internal::CaptureStdout();
  model.fit(kX, kY, {.verbose = 2, .callbacks = {CSVLogger(path)}});
  const std::string line = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(line, HasSubstr("f1_score: 0.4921 - loss: 1.0986 - p: 0.1667"));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("epoch,f1_score,loss,p,"));
  EXPECT_THAT(text.str(), HasSubstr("\"\"\"[0.3333333"));
  EXPECT_THAT(text.str(), HasSubstr(", 0.0]\"\"\",NA"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace nyala::several_values_test
