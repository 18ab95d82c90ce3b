// Models that override Keras' hooks train to the same numbers on any number of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::train_step_test {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor numbers(const Shape& shape, double factor) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(factor * static_cast<double>(i + 1));
  return Tensor::from(values, shape);
}

Dense dense(int64_t units, const std::string& activation = "linear") {
  return Dense(units, {.activation = activation, .dtype = "float64"});
}

Strategy mirrored(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy({.devices = devices, .shared_weights = SharedWeights::never});
}

/// Keras' recipe, word for word.
struct Recipe : ModelNode {
  Dense first = track("first", dense(5, "tanh")), last = track("last", dense(2));
  Metric tracker = track_metric(metrics::Mean({.name = "own_loss"}));
  Metric error = track_metric(metrics::MeanAbsoluteError());

  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor y_pred = step.forward(batch.x[0]);
    const Tensor loss = step.compute_loss(batch, {y_pred});
    const Tensors gradients = tape.gradient(loss, step.trainable_variables());
    step.optimizer().apply_gradients(gradients, step.trainable_variables());
    step.track_loss(tracker, loss);
    error.update_state(batch.y[0], y_pred);
    step.log("rows", Tensor::full({}, static_cast<double>(step.rows()), DType::float64), ReduceOp::sum);
    if (step.rows() > 0) step.log("mean_x", ops::mean(batch.x[0]), ReduceOp::mean);
  }
};

/// The same without a word.
struct Plain : ModelNode {
  Dense first = track("first", dense(5, "tanh")), last = track("last", dense(2));
  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }
};

class TrainStep : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 4);
    clear_session();
    set_random_seed(7);
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  template <class Node>
  static Model made(const Strategy& strategy, const Optimizer& optimizer, const Loss& loss = "mse") {
    clear_session();
    set_random_seed(7);
    const Model model = strategy.scope([] { return make_model<Node>(); });
    model.compile({.optimizer = optimizer, .loss = loss});
    return model;
  }
  static void expect_near(const Model& a, const Model& b, double tolerance = 1e-12) {
    const Tensors left = a.get_weights(), right = b.get_weights();
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i)
      EXPECT_THAT(left[i].to_vector<double>(),
                  ::testing::Pointwise(::testing::DoubleNear(tolerance), right[i].to_vector<double>()));
  }
  const Tensor x = numbers({11, 3}, 0.7), y = numbers({11, 2}, 1.3);
};

TEST_F(TrainStep, TheRecipeIsWhatFitDoesByItself) {
  const Model plain = made<Plain>(OneDeviceStrategy("cpu:0"), Adam({.learning_rate = 0.05}));
  const History expected = plain.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
  for (int count : {1, 2, 3, 4}) {
    SCOPED_TRACE(count);
    const Model model = made<Recipe>(mirrored(count), Adam({.learning_rate = 0.05}));
    const History history = model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    expect_near(model, plain);
    for (int epoch : {0, 1, 2})
      EXPECT_NEAR(history["own_loss"].at(static_cast<size_t>(epoch)),
                  // the tracker weighs batches, not rows, by their size: the same thing
                  expected["loss"].at(static_cast<size_t>(epoch)), 1e-12);
  }
}

TEST_F(TrainStep, TheLogsHoldWhatTheStepPutThere) {
  for (int count : {1, 2, 3, 4}) {
    SCOPED_TRACE(count);
    const Model model = made<Recipe>(mirrored(count), "sgd");
    const History history = model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
    std::vector<std::string> names;
    for (const auto& [name, values] : history.history()) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("mean_absolute_error", "mean_x", "own_loss", "rows"));
    EXPECT_EQ(history["rows"].back(), 3.0);  // of the last batch
    const std::vector<double> values = x.to_vector<double>();
    double last = 0;
    for (size_t i = 24; i < 33; ++i) last += values[i] / 9;
    EXPECT_NEAR(history["mean_x"].back(), last, 1e-12);
  }
}

TEST_F(TrainStep, OwnMetricsBeginAnewWithEveryEpoch) {
  const Model model = made<Recipe>(mirrored(2), SGD({.learning_rate = 0.0}));
  const History history = model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});
  EXPECT_NEAR(history["mean_absolute_error"][0], history["mean_absolute_error"][1], 1e-12);
  ASSERT_EQ(model.metrics().size(), 2u);
  EXPECT_EQ(model.metrics()[0].name(), "own_loss");
  EXPECT_NEAR(model.metrics()[1].result(), history["mean_absolute_error"][1], 1e-12);
}

/// A loss that differentiates the model: fit's own tape is the outer one.
struct Smooth : Plain {
  Tensor compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) override {
    const Tensor loss = step.compiled_loss(batch, predictions);
    GradientTape inner;
    const Tensor watched = inner.watch(batch.x[0]);
    const Tensor slope = inner.gradient(ops::sum(step.forward(watched)), watched);
    return loss + ops::sum(ops::square(slope)) * (0.1 / static_cast<double>(step.global_rows()));
  }
};

TEST_F(TrainStep, ALossWithAGradientPenalty) {
  const Model alone = made<Smooth>(OneDeviceStrategy("cpu:0"), SGD({.learning_rate = 0.1}));
  const Model plain = made<Plain>(OneDeviceStrategy("cpu:0"), SGD({.learning_rate = 0.1}));
  const FitConfig config{.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false};
  const History expected = alone.fit(x, y, config);
  plain.fit(x, y, config);
  EXPECT_GT(
      std::abs(alone.get_weights()[0].to_vector<double>()[0] - plain.get_weights()[0].to_vector<double>()[0]),
      1e-6);
  for (int count : {2, 3, 4}) {
    SCOPED_TRACE(count);
    const Model model = made<Smooth>(mirrored(count), SGD({.learning_rate = 0.1}));
    const History history = model.fit(x, y, config);
    expect_near(model, alone);
    EXPECT_NEAR(history["loss"].back(), expected["loss"].back(), 1e-12);
  }
}

struct Doubling : Plain {
  void test_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor y_pred = step.forward(batch.x[0]) * 0.0;
    step.track_loss(step.compute_loss(batch, {y_pred}));
  }
  Tensors predict_step(ReplicaStep& step, const Batch& batch) override {
    return {step.forward(batch.x[0]) * 2.0};
  }
};

TEST_F(TrainStep, TestAndPredictSteps) {
  for (int count : {1, 3}) {
    const Model model = made<Doubling>(mirrored(count), "sgd"), plain = made<Plain>(mirrored(1), "sgd");
    plain.build({None, 3});
    model.build({None, 3});
    plain.set_weights(model.get_weights());
    double squares = 0;
    for (double value : y.to_vector<double>()) squares += value * value / 22;
    EXPECT_NEAR(model.evaluate(x, y, {.batch_size = 4, .verbose = 0})["loss"], squares, 1e-12);
    const std::vector<double> twice = model.predict(x, {.verbose = 0}).to_vector<double>(),
                              once = plain.predict(x, {.verbose = 0}).to_vector<double>();
    for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-12);
  }
}

class Watched final : public LayerNode {
 public:
  std::string class_name() const override { return "Watched"; }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_metric("per_row", ops::sum(x, {1}));
    c.add_metric("per_batch", x.shape()[0] > 0 ? ops::mean(x) : ops::sum(x));
    return x;
  }
};

TEST_F(TrainStep, AddMetric) {
  const std::vector<double> values = x.to_vector<double>();
  double rows = 0, batches = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    rows += values[i] / 11;
    batches += values[i] / (i < 24 ? 12 : 9) / 3;
  }
  for (int count : {1, 2, 3, 4}) {
    clear_session();
    const Model model = mirrored(count).scope([] {
      return Sequential({Input({3}, {.dtype = "float64"}), make_layer<Watched>(), dense(2)});
    });
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const History history = model.fit(x, y, {.batch_size = 4, .verbose = 0, .shuffle = false});
    EXPECT_NEAR(history["per_row"][0], rows, 1e-6) << count;  // the layer works in float32
    EXPECT_NEAR(history["per_batch"][0], batches, 1e-6) << count;
  }
}

TEST_F(TrainStep, FreezingTakesEffectWithTheNextCompile) {
  const Model model = made<Plain>(mirrored(2), Adam({.learning_rate = 0.1}));
  const FitConfig config{.batch_size = 4, .verbose = 0};
  const auto first = [&] { return model.get_weights()[0].to_vector<double>(); };
  model.fit(x, y, config);
  model.layers()[0].set_trainable(false);
  const auto before = first();
  model.fit(x, y, config);
  const auto between = first();
  EXPECT_NE(before, between);
  model.compile({.optimizer = Adam({.learning_rate = 0.1}), .loss = "mse"});
  const auto last = model.get_weights()[2].to_vector<double>();
  model.fit(x, y, config);
  EXPECT_EQ(between, first());
  EXPECT_NE(last, model.get_weights()[2].to_vector<double>());
  model.layers()[0].set_trainable(true);
  model.fit(x, y, config);
  EXPECT_EQ(between, first());
  model.compile({.optimizer = Adam({.learning_rate = 0.1}), .loss = "mse"});
  model.fit(x, y, config);
  EXPECT_NE(between, first());
}

TEST_F(TrainStep, WithoutALossThereMustBeSomethingToCompute) {
  const Model model = made<Plain>(mirrored(2), "sgd", Loss());
  model.compile({.optimizer = "sgd"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(x, y, {.verbose = 0}); }), HasSubstr("loss"));
}

/// Two models, two optimizers; each step the critic learns first, and the maker learns from the critic as it
/// is then.
struct Gan : ModelNode {
  Model maker, critic;
  Optimizer maker_optimizer = track_optimizer("maker_optimizer", Adam({.learning_rate = 0.02})),
            critic_optimizer = track_optimizer("critic_optimizer", SGD({.learning_rate = 0.1}));
  Metric critic_loss = track_metric(metrics::Mean({.name = "critic_loss"}));
  Metric maker_loss = track_metric(metrics::Mean({.name = "maker_loss"}));

  Gan() {
    maker = track("maker", Model(Sequential({Input({2}, {.dtype = "float64"}), dense(4, "tanh"), dense(3)})));
    critic =
        track("critic", Model(Sequential({Input({3}, {.dtype = "float64"}), dense(4, "tanh"), dense(1)})));
  }
  bool has_call() const override { return false; }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor &real = batch.x[0], &noise = batch.y[0];
    const double share = 1.0 / static_cast<double>(step.global_rows());
    {
      GradientTape tape;
      const Tensor fake = maker(step.call(), noise);
      const Tensor loss = (ops::sum(ops::softplus(-critic(step.call(), real))) +
                           ops::sum(ops::softplus(critic(step.call(), fake)))) *
                          share;
      const Variables weights = critic.trainable_variables();
      critic_optimizer.apply_gradients(tape.gradient(loss, weights), weights);
      step.track_loss(critic_loss, loss);
    }
    GradientTape tape;
    const Tensor fake = maker(step.call(), noise);
    const Tensor loss = ops::sum(ops::softplus(-critic(step.call(), fake))) * share;
    const Variables weights = maker.trainable_variables();
    maker_optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    step.track_loss(maker_loss, loss);
  }
};

TEST_F(TrainStep, AGanInFit) {
  std::vector<Tensors> weights;
  std::vector<double> losses;
  for (int count : {1, 2, 3, 4}) {
    SCOPED_TRACE(count);
    const Model gan = made<Gan>(mirrored(count), "sgd", Loss());
    const History history =
        gan.fit(x, numbers({11, 2}, 2.1), {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    weights.push_back(gan.get_weights());
    losses.push_back(history["maker_loss"].back());
    EXPECT_NEAR(losses.back(), losses.front(), 1e-12);
    for (size_t i = 0; i < weights[0].size(); ++i)
      EXPECT_THAT(weights.back()[i].to_vector<double>(),
                  ::testing::Pointwise(::testing::DoubleNear(1e-12), weights[0][i].to_vector<double>()));
  }
}

/// Only one of two layers learns, from numbers that the step draws.
struct Drawing : ModelNode {
  Dense first = track("first", dense(4)), last = track("last", dense(2));
  Metric normal = track_metric(metrics::Mean({.name = "normal"}));
  Metric uniform = track_metric(metrics::Mean({.name = "uniform"}));
  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor noise = step.random_normal({step.rows(), 3}, 1.0, 0.5);
    const Tensor factors = step.random_uniform({step.rows(), 2, 1}, 2.0, 3.0);
    normal.update_state(noise);
    uniform.update_state(factors);
    GradientTape tape;
    const Tensor y_pred = step.forward(batch.x[0] + ops::cast(noise, DType::float64));
    const Tensor loss =
        step.compute_loss(batch, {y_pred * ops::cast(factors.reshape({-1, 2}), DType::float64)});
    step.apply_gradients(tape.gradient(loss, last.trainable_variables()), last.trainable_variables());
    step.track_loss(loss);
  }
};

TEST_F(TrainStep, WhatTheStepDrawsBelongsToTheRowsOfTheBatch) {
  const FitConfig config{.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false};
  const Model alone =
      made<Drawing>(OneDeviceStrategy("cpu:0"), SGD({.learning_rate = 0.01, .momentum = 0.9}));
  const History expected = alone.fit(x, y, config);
  EXPECT_NEAR(expected["normal"][0], 1.0, 0.4);
  EXPECT_GT(expected["uniform"][0], 2.2);
  EXPECT_LT(expected["uniform"][0], 2.8);
  EXPECT_NE(expected["normal"][0], expected["normal"][1]);
  const Model untrained = made<Drawing>(OneDeviceStrategy("cpu:0"), "sgd");
  untrained.build({None, 3});
  EXPECT_EQ(alone.get_weights()[0].to_vector<double>(), untrained.get_weights()[0].to_vector<double>());
  EXPECT_NE(alone.get_weights()[2].to_vector<double>(), untrained.get_weights()[2].to_vector<double>());
  for (int count : {2, 3, 4}) {
    SCOPED_TRACE(count);
    const Model model = made<Drawing>(mirrored(count), SGD({.learning_rate = 0.01, .momentum = 0.9}));
    const History history = model.fit(x, y, config);
    expect_near(model, alone, 1e-10);
    for (const char* name : {"normal", "uniform", "loss"})
      EXPECT_NEAR(history[name][2], expected[name][2], 1e-6);
  }
}

struct WrongRows : Plain {
  void train_step(ReplicaStep& step, const Batch&) override { step.random_normal({step.rows() + 1, 2}); }
};

TEST_F(TrainStep, WhatTheStepDrawsHasItsRows) {
  const Model model = made<WrongRows>(OneDeviceStrategy("cpu:0"), "sgd");
  EXPECT_THAT(error_text<ShapeError>([&] { model.fit(x, y, {.batch_size = 4, .verbose = 0}); }),
              HasSubstr("step.rows()"));
}

static_assert(!std::is_constructible_v<LearningRate, std::nullptr_t>);
static_assert(std::is_convertible_v<int, LearningRate> && std::is_convertible_v<double, LearningRate>);

}  // namespace

}  // namespace nyala::train_step_test
