#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

namespace fs = std::filesystem;

/// A model of one weight, 0 at first, and data whose mean squared error with weight w is (w - 3)^2.
Sequential model_of_one_weight() {
  Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  model.compile({.optimizer = SGD(0.1), .loss = MeanSquaredError()});
  return model;
}

Arrays threes() { return {Tensor::full({4, 1}, 1.0), Tensor::full({4, 1}, 3.0)}; }

class SidecarEvaluation : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        ::testing::TempDir() + "sidecar_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void leave(const std::string& name, double weight) const {
    fs::create_directories(folder_);
    const Sequential model = model_of_one_weight();
    model.set_weights({Tensor::full({1, 1}, weight)});
    if (name.ends_with(".keras"))
      model.save(folder_ + "/" + name);
    else
      model.save_weights(folder_ + "/" + name);
  }

  /// The loss of each evaluation of a start().
  std::vector<double> evaluate(SidecarEvaluatorConfig config) const {
    std::vector<double> losses;
    config.callbacks.push_back(
        LambdaCallback({.on_test_end = [&](Logs& logs) { losses.push_back(logs["loss"]); }}));
    config.timeout = std::chrono::seconds(60);
    const Logs last = SidecarEvaluator(model_of_one_weight(), threes(), folder_, config).start();
    EXPECT_EQ(last.at("loss"), losses.back());
    return losses;
  }

  std::string folder_;
};

TEST_F(SidecarEvaluation, TakesTheCheckpointWithTheHighestNumber) {
  leave("ckpt-9.weights.h5", 1);
  leave("ckpt-10.weights.h5", 5);
  leave("ckpt-11.txt.weights.h5", 7);
  leave("other-12.weights.h5", 7);
  EXPECT_EQ(evaluate({.max_evaluations = 10}), std::vector<double>{4});
}

TEST_F(SidecarEvaluation, TakesWholeModels) {
  leave("ckpt-3.keras", 2);
  EXPECT_EQ(evaluate({.max_evaluations = 2}), std::vector<double>{1});
}

TEST_F(SidecarEvaluation, WaitsForWhatTrainingLeaves) {
  std::thread training([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    leave("ckpt-1.weights.h5", 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    leave("ckpt-2.weights.h5", 2);
  });
  const std::vector<double> losses = evaluate({.max_evaluations = 2});
  training.join();
  // A busy machine may miss the first, never the last.
  EXPECT_EQ(losses.back(), 1);
  if (losses.size() > 1) {
    EXPECT_EQ(losses, (std::vector<double>{4, 1}));
  }
}

TEST_F(SidecarEvaluation, EvaluatesWhatModelCheckpointWrites) {
  const Sequential training = model_of_one_weight();
  const History history = training.fit(
      threes(),
      {.epochs = 3,
       .verbose = 0,
       .callbacks = {ModelCheckpoint(folder_ + "/ckpt-{epoch}.weights.h5", {.save_weights_only = true})}});
  EXPECT_EQ(evaluate({.max_evaluations = 3}),
            std::vector<double>{training.evaluate(threes(), {.verbose = 0}).at("loss")});
}

TEST_F(SidecarEvaluation, ACheckpointOfAnotherModelIsAnError) {
  fs::create_directories(folder_);
  Sequential({Input({2}), Dense(1)}).save_weights(folder_ + "/ckpt-1.weights.h5");
  EXPECT_THROW(evaluate({.max_evaluations = 1}), ShapeError);
}

TEST_F(SidecarEvaluation, NoCheckpointInTimeIsAnErrorThatNamesTheFolder) {
  SidecarEvaluator evaluator(model_of_one_weight(), threes(), folder_,
                             {.timeout = std::chrono::milliseconds(50)});
  try {
    evaluator.start();
    FAIL();
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find(folder_), std::string::npos) << error.what();
  }
}

TEST_F(SidecarEvaluation, WrongArgumentsAreErrors) {
  const Sequential model = model_of_one_weight();
  EXPECT_THROW(SidecarEvaluator(model, {}, folder_), InvalidArgumentError);
  EXPECT_THROW(SidecarEvaluator(model, threes(), ""), InvalidArgumentError);
  EXPECT_THROW(SidecarEvaluator(model, threes(), folder_, {.max_evaluations = -1}), InvalidArgumentError);
  EXPECT_THROW(SidecarEvaluator(Sequential({Input({1}), Dense(1)}), threes(), folder_).start(), StateError);
}

}  // namespace
}  // namespace nyala
