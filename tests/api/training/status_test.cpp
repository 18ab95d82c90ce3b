// Ids and labels that do not exist are reported where they were used: by the call of the model, and by no
// other.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/embedding.h>
#include <nyala/api/layers/reshaping/flatten.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/training/replica_step.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::status_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Tensor kGood = Tensor::from(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {4, 2});
const Tensor kBad = Tensor::from(std::vector<int64_t>{0, 1, 2, 3, 4, 12, 6, 7}, {4, 2});
const Tensor kLabels = Tensor::from(std::vector<int64_t>{0, 1, 2, 0});
const PredictConfig kSilent{.verbose = 0};

/// Ten words of two, three classes.
Sequential classifier(const std::string& name = "words") {
  Sequential model({Input({2}, {.dtype = "int64"}), Embedding(10, 4), Flatten(), Dense(3)}, {.name = name});
  model.compile({.optimizer = SGD(0.1), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

class StatusTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 4); }
};

TEST_F(StatusTest, PredictThrowsAndNobodyElseDoes) {
  const Sequential model = classifier("one"), other = classifier("other");
  EXPECT_THAT(error_text<NumericError>([&] { model.predict(kBad, kSilent); }),
              AllOf(HasSubstr("'one'"), HasSubstr("index 12 at (2, 1) is outside [0, 10)")));
  EXPECT_THAT(error_text<NumericError>([&] { model.predict_on_batch(kBad); }), HasSubstr("index 12"));
  EXPECT_THAT(error_text<NumericError>([&] { model.predict_all({kBad}, kSilent); }), HasSubstr("index 12"));
  EXPECT_THAT(error_text<NumericError>([&] { model(kBad); }), HasSubstr("index 12"));
  EXPECT_NO_THROW(other.fit(kGood, kLabels, {.verbose = 0}));
  EXPECT_NO_THROW(model.fit(kGood, kLabels, {.verbose = 0}));
  EXPECT_NO_THROW(model.predict(kGood, kSilent));
}

TEST_F(StatusTest, LayersAndOpsThrowAtOnce) {
  const Embedding embedding(10, 4);
  EXPECT_NO_THROW(embedding(kGood));
  EXPECT_THAT(error_text<NumericError>([&] { embedding(kBad); }), HasSubstr("index 12"));
  EXPECT_THAT(error_text<NumericError>([&] {
                ops::take(Tensor::zeros({10, 4}), kBad, 0);
              }),
              HasSubstr("index 12"));
  EXPECT_NO_THROW(embedding(kGood));
}

TEST_F(StatusTest, WideAndFractionalIdsAreNotCut) {
  const Sequential model = classifier();
  const int64_t wide = (int64_t{1} << 32) + 3;
  EXPECT_THAT(error_text<NumericError>([&] {
                model.predict(Tensor::from(std::vector<int64_t>{0, wide}, {1, 2}), kSilent);
              }),
              HasSubstr("index 4294967299 at (0, 1)"));
  const Embedding embedding(10, 4);
  EXPECT_THROW(embedding(Tensor::from(std::vector<double>{0, 4294967299.0})), NumericError);
  EXPECT_THROW(embedding(Tensor::from(std::vector<float>{0, 4294967296.0f})), NumericError);
}

std::vector<float> numbers_of(const Model& model) {
  std::vector<float> all;
  for (const Tensor& value : model.get_weights())
    for (const float number : value.to_vector<float>()) all.push_back(number);
  return all;
}

Strategy on_cpus(int replicas) {
  MirroredStrategyConfig config;
  for (int i = 0; i < replicas; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy(config);
}

TEST_F(StatusTest, AStepThatThrowsHasChangedNoWeight) {
  const Tensor far = Tensor::from(std::vector<int64_t>{10, 11, 12, 13, 14, 12, 16, 17}, {4, 2});
  const Tensor wrong = Tensor::from(std::vector<int64_t>{0, 1, 7, 0});
  for (const int replicas : {1, 2, 3})
    for (const char* optimizer : {"sgd", "adam"}) {
      const Sequential model = on_cpus(replicas).scope([] { return classifier("unhurt"); });
      model.compile({.optimizer = optimizer, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
      model.fit(kGood, kLabels, {.verbose = 0});
      const std::vector<float> before = numbers_of(model);
      EXPECT_THAT(error_text<NumericError>([&] { model.train_on_batch(kBad, kLabels); }),
                  AllOf(HasSubstr("'unhurt'"), HasSubstr("index 12 at (2, 1) ")));
      EXPECT_THROW(model.fit(far, kLabels, {.verbose = 0}), NumericError);
      EXPECT_THAT(
          error_text<NumericError>([&] { model.fit(kGood, wrong, {.verbose = 0, .shuffle = false}); }),
          HasSubstr("label 7 in row "));
      EXPECT_EQ(numbers_of(model), before);
      EXPECT_NO_THROW(model.evaluate(kGood, kLabels, {.verbose = 0}));
      EXPECT_NO_THROW(model.fit(kGood, kLabels, {.verbose = 0}));
      EXPECT_NE(numbers_of(model), before);
    }
}

/// Trains by a GradientTape of its own.
class OwnStep : public ModelNode {
 public:
  std::string class_name() const override { return "OwnStep"; }
  void build(Builder&, const Shape&) override {}
  Tensor call(Call&, const Tensor& x) const override { return dense_(flat_(table_(x))); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensors predictions = step.forward(batch.x);
    const Tensor loss = step.compute_loss(batch, predictions);
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
  }

 private:
  Embedding table_ = track("table", Embedding(10, 4));
  Flatten flat_ = track("flat", Flatten());
  Dense dense_ = track("dense", Dense(3));
};

TEST_F(StatusTest, AStepOfTheModelsOwnAppliesNoSuchGradients) {
  for (const int replicas : {1, 2}) {
    const Model model = on_cpus(replicas).scope([] { return make_model<OwnStep>(); });
    model.compile({.optimizer = "adam", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    model.train_on_batch(kGood, kLabels);
    const std::vector<float> before = numbers_of(model);
    EXPECT_THAT(error_text<NumericError>([&] { model.train_on_batch(kBad, kLabels); }),
                HasSubstr("index 12 at (2, 1) "));
    EXPECT_EQ(numbers_of(model), before);
    EXPECT_NO_THROW(model.train_on_batch(kGood, kLabels));
  }
}

TEST_F(StatusTest, TrainingElsewhereThanOnCpusSaysItBeforeItsWeightsAreSaved) {
  enable_ghost_device();
  const Sequential model = OneDeviceStrategy("ghost:0").scope([] { return classifier("far"); });
  const std::string path = ::testing::TempDir() + "/status_test.weights.h5";
  for (int round = 0; round < 2; ++round) {
    model.train_on_batch(kBad, kLabels);  // nobody reads its logs
    EXPECT_NO_THROW(model.evaluate(kGood, kLabels, {.verbose = 0}));  // a call of its own
    EXPECT_THAT(error_text<NumericError>([&] { model.save_weights(path); }), HasSubstr("index 12"));
  }
}

TEST_F(StatusTest, TrainingSaysItWhereResultsAreRead) {
  const Sequential model = classifier("trained");
  const Tensor wrong = Tensor::from(std::vector<int64_t>{0, 1, 7, 0});
  EXPECT_THAT(error_text<NumericError>([&] { model.fit(kGood, wrong, {.verbose = 0}); }),
              AllOf(HasSubstr("'trained'"), HasSubstr("label 7 in row ")));
  const Sequential second = classifier("second");
  EXPECT_THAT(error_text<NumericError>([&] { second.evaluate(kGood, wrong, {.verbose = 0}); }),
              HasSubstr("label 7"));
  EXPECT_THAT(error_text<NumericError>([&] { (void)second.test_on_batch(kBad, kLabels)["loss"]; }),
              HasSubstr("index 12"));
  EXPECT_NO_THROW(second.evaluate(kGood, kLabels, {.verbose = 0}));
  EXPECT_THAT(error_text<NumericError>([&] { second.train_on_batch(kBad, kLabels); }), HasSubstr("index 12"));
  EXPECT_NO_THROW(second.predict(kGood, kSilent));  // a call of its own
}

TEST_F(StatusTest, ReplicasReportToTheirCall) {
  for (const int replicas : {2, 3}) {
    MirroredStrategyConfig config;
    for (int i = 0; i < replicas; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const MirroredStrategy strategy(config);
    const Sequential model = strategy.scope([] { return classifier(); });
    EXPECT_THAT(error_text<NumericError>([&] { model.predict(kBad, kSilent); }),
                HasSubstr("index 12 at (2, 1) "));
    EXPECT_NO_THROW(model.predict(kGood, kSilent));
    EXPECT_THAT(error_text<NumericError>([&] { model.fit(kBad, kLabels, {.verbose = 0}); }),
                HasSubstr("index 12 at ("));
    EXPECT_THAT(error_text<NumericError>([&] { (void)model.train_on_batch(kBad, kLabels)["loss"]; }),
                HasSubstr("index 12 at (2, 1) "));
    EXPECT_NO_THROW(model.fit(kGood, kLabels, {.verbose = 0}));
  }
}

TEST_F(StatusTest, TakeInAGraphReports) {
  const Input indices({2}, {.dtype = "int64"});
  const Model model(indices, ops::take(Tensor::full({10, 4}, 1.0), Tensor(indices), 0));
  EXPECT_NO_THROW(model.predict(kGood, kSilent));
  EXPECT_THAT(error_text<NumericError>([&] { model.predict(kBad, kSilent); }), HasSubstr("index 12"));
}

TEST_F(StatusTest, ThreadsThatPredictDoNotMixTheirs) {
  const Sequential model = classifier("shared"), other = classifier("other");
  model.predict(kGood, kSilent);
  other.predict(kGood, kSilent);
  std::atomic<int> thrown{0}, good{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      const Sequential& mine = id % 2 ? model : other;
      for (int i = 0; i < 50; ++i) try {
          mine.predict(id < 2 ? kBad : kGood, kSilent);
          good += id < 2 ? 0 : 1;
        } catch (const NumericError&) {
          thrown += id < 2 ? 1 : 1000;
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(thrown, 100);
  EXPECT_EQ(good, 100);
}

}  // namespace
}  // namespace nyala::status_test
