#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/lambda_callback.h>
#include <nyala/api/estimator/train_and_evaluate.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/optimizers/adam.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/support/child_process.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::estimator_test {
namespace {

Model make_model() {
  set_random_seed(5);
  const Model model = Sequential({Input({3}), Dense(4, {.activation = "tanh"}), Dropout(0.25), Dense(1)});
  model.compile({.optimizer = Adam(0.01), .loss = "mse"});
  return model;
}

/// One batch for ever: where in the data a training goes on does not matter.
Dataset endless() {
  return Dataset::from_tensor_slices(Tensor::arange(12).reshape({4, 3}), Tensor::arange(4)).batch(4).repeat();
}
Dataset three_batches() { return endless().take(3); }

std::vector<float> weights_of(const Model& model) {
  std::vector<float> all;
  for (const Tensor& weight : model.get_weights()) {
    const std::vector<float> values = weight.to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(path.substr(path.rfind('/') + 1));
  return names;
}

class EstimatorTest : public ::testing::Test {
 protected:
  EstimatorTest() {
    set_default_verbosity(0);
    configure_logical_devices("cpu", 2);
  }
  ~EstimatorTest() override {
    configure_logical_devices("cpu", 1);
    set_default_verbosity(1);
  }

  Estimator in(const std::string& name, EstimatorConfig config = {}) {
    config.model_dir = folder_.file(name);
    return Estimator(make_model, config);
  }
  std::vector<std::string> checkpoints(const std::string& name) const {
    return names_of(CheckpointFolder(folder_.file(name), 0).all());
  }
  /// The weights after `steps` steps without an interruption.
  std::vector<float> trained(int64_t steps) {
    Estimator estimator = in("whole" + std::to_string(steps));
    estimator.train(endless, {.max_steps = steps});
    return weights_of(estimator.model());
  }

  const ScratchFolder folder_{"estimator"};
};

TEST_F(EstimatorTest, GoesOnWhereTheFolderIs) {
  in("parts").train(endless, {.steps = 2});
  in("parts").train(endless, {.steps = 3});
  Estimator last = in("parts");
  last.train(endless, {.max_steps = 7});
  EXPECT_EQ(last.model().optimizer().iterations(), 7);
  EXPECT_EQ(weights_of(last.model()), trained(7));
  EXPECT_EQ(checkpoints("parts"),
            (std::vector<std::string>{"model.ckpt-0.weights.h5", "model.ckpt-2.weights.h5",
                                      "model.ckpt-5.weights.h5", "model.ckpt-7.weights.h5"}));
  last.train(endless, {.max_steps = 7});
  EXPECT_EQ(last.model().optimizer().iterations(), 7);
}

TEST_F(EstimatorTest, EndsWithItsData) {
  Estimator estimator = in("data");
  estimator.train(three_batches, {.max_steps = 100});
  EXPECT_EQ(estimator.model().optimizer().iterations(), 3);
  estimator.train(three_batches);
  EXPECT_EQ(estimator.model().optimizer().iterations(), 6);
  EXPECT_EQ(weights_of(estimator.model()), trained(6));
}

TEST_F(EstimatorTest, KeepsTheNewestCheckpoints) {
  Estimator estimator = in("few", {.save_checkpoints_steps = 2, .keep_checkpoint_max = 2});
  estimator.train(endless, {.max_steps = 7});
  EXPECT_EQ(checkpoints("few"),
            (std::vector<std::string>{"model.ckpt-6.weights.h5", "model.ckpt-7.weights.h5"}));
  EXPECT_EQ(names_of({estimator.latest_checkpoint()}), std::vector<std::string>{"model.ckpt-7.weights.h5"});
  const Logs newest = estimator.evaluate(three_batches);
  EXPECT_EQ(newest["global_step"], 7);
  const Logs older = estimator.evaluate(
      three_batches, {.steps = 1, .checkpoint_path = estimator.model_dir() + "/model.ckpt-6.weights.h5"});
  EXPECT_EQ(older["global_step"], 6);
  EXPECT_GT(older["loss"], newest["loss"]);
  estimator.train(endless, {.max_steps = 8});  // from step 7, whatever was evaluated since
  EXPECT_EQ(weights_of(estimator.model()), trained(8));
}

TEST_F(EstimatorTest, ReadsItsCheckpoints) {
  Estimator writer = in("read");
  writer.train(endless, {.max_steps = 4});
  const std::vector<float> expected =
      writer.model().predict_all({Tensor::arange(12).reshape({4, 3})})[0].to_vector<float>();
  Estimator reader = in("read");
  EXPECT_EQ(reader.predict([] { return endless().take(1); })[0].to_vector<float>(), expected);
  const std::vector<std::string> names = reader.get_variable_names();
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(reader.get_variable_value(names[0]).to_vector<float>(),
            writer.model().get_weights()[0].to_vector<float>());
  EXPECT_THROW(reader.get_variable_value("dense/kernels"), NotFoundError);
}

TEST_F(EstimatorTest, TrainsUnderAStrategyAsOnOneDevice) {
  Estimator two = in("two", {.strategy = mirrored(2)});
  two.train(endless, {.max_steps = 5});
  EXPECT_EQ(two.model().optimizer().iterations(), 5);
  const std::vector<float> got = weights_of(two.model()), expected = trained(5);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  Estimator one = in("two");  // without it
  one.train(endless, {.max_steps = 6});
  EXPECT_EQ(one.model().optimizer().iterations(), 6);
}

TEST_F(EstimatorTest, TakesAModel) {
  const Model model = make_model();
  Estimator estimator(model, {.model_dir = folder_.file("model"), .strategy = mirrored(2)});
  estimator.train(endless, {.steps = 2});
  EXPECT_EQ(model.optimizer().iterations(), 2);
  EXPECT_EQ(estimator.evaluate(three_batches)["global_step"], 2);
}

TEST_F(EstimatorTest, TrainsAndEvaluates) {
  int64_t evaluations = 0, batches = 0;
  const auto counted = [&] {
    ++evaluations;
    return endless();
  };
  LambdaCallback counts({.on_train_batch_end = [&](int64_t, Logs&) { ++batches; }});
  Estimator estimator = in("both", {.save_checkpoints_steps = 2});
  const Logs logs =
      train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 7, .callbacks = {counts}},
                         {.input_fn = counted, .steps = 2, .throttle = std::chrono::seconds(0)});
  EXPECT_EQ(logs["global_step"], 7);
  EXPECT_EQ(batches, 7);
  EXPECT_EQ(evaluations, 4);  // at 2, 4, 6 and the end
  EXPECT_EQ(weights_of(estimator.model()), trained(7));
  evaluations = 0;
  train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 11}, {.input_fn = counted, .steps = 1});
  EXPECT_EQ(evaluations, 1);  // ten minutes are not over
}

TEST_F(EstimatorTest, GoesOnAfterAKill) {
  const std::string path = folder_.file("killed");
  ChildProcess child("estimator_training", {path, "100000"});
  const CheckpointFolder checkpoints(path, 0);
  while (checkpoints.all().empty() || checkpoints.latest().ends_with("-0.weights.h5"))
    ASSERT_FALSE(child.ends_within(std::chrono::milliseconds(2)));
  ASSERT_TRUE(child.kill());
  Estimator estimator = in("killed");
  estimator.train(endless, {.steps = 1});
  const int64_t step = estimator.model().optimizer().iterations();
  EXPECT_EQ(step % 3, 1) << step;
  EXPECT_EQ(weights_of(estimator.model()), trained(step));
}

TEST_F(EstimatorTest, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Estimator(make_model, {}), InvalidArgumentError);
  EXPECT_THROW(in("a", {.save_checkpoints_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(in("a").train(endless, {.steps = 1, .max_steps = 2}), InvalidArgumentError);
  EXPECT_THROW(in("a").train({}, {.steps = 1}), InvalidArgumentError);
  EXPECT_THROW(in("a").train(endless), InvalidArgumentError);
  EXPECT_THROW(in("b").evaluate(three_batches), NotFoundError);
  EXPECT_THROW(in("b").predict(three_batches), NotFoundError);
  const Model plain = Sequential({Input({3}), Dense(1)});
  EXPECT_THROW(Estimator(plain, {.model_dir = folder_.file("c")}).train(endless, {.steps = 1}), StateError);
  Estimator estimator = in("d");
  EXPECT_THROW(train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 1}, {}),
               InvalidArgumentError);
}

TEST_F(EstimatorTest, RefusesADamagedIndex) {
  in("index").train(endless, {.steps = 1});
  std::ofstream(folder_.file("index") + "/checkpoint") << "model_checkpoint_path: \"../../etc/passwd\"\n";
  expect_error<FileFormatError>([&] { in("index").train(endless, {.steps = 1}); },
                                {"checkpoint", "model.ckpt-<step>"});
  std::ofstream(folder_.file("index") + "/checkpoint") << "";
  EXPECT_THROW(in("index").evaluate(three_batches), FileFormatError);
  std::ofstream(folder_.file("index") + "/checkpoint")
      << "model_checkpoint_path: \"model.ckpt-9.weights.h5\"\n";
  EXPECT_THROW(in("index").evaluate(three_batches), IoError);
}

}  // namespace
}  // namespace nyala::estimator_test
