// The promise for losses that are no sums over rows (replicas gather their outputs), for the optimizers that
// look at whole weights, for masks with sample weights and for scaled losses.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/expect_promise.h>

namespace nyala::promise_more_test {
namespace {

constexpr int64_t kFeatures = 6, kClasses = 3, kWords = 9, kSteps = 5;

Tensor weights(int64_t count, DType dtype) {
  std::vector<double> values = random_numbers(4, {count}, DType::float64).to_vector<double>();
  for (double& value : values) value = value < -1.0 ? 0.0 : 1.5 + value;
  return ops::cast(Tensor::from(values), dtype);
}

/// Batches of 8: the last one has 1 row for 1 to 4 replicas.
CaseData table(DType dtype, int64_t rows = 33) {
  CaseData data;
  data.x = {random_numbers(1, {rows, kFeatures}, dtype)};
  data.y = {random_labels(2, rows, kClasses)};
  data.fit.batch_size = 8;
  data.fit.epochs = 2;
  data.fit.verbose = 0;
  return data;
}

CaseData one_hot_table(DType dtype) {
  CaseData data = table(dtype);
  data.y = {ops::cast(to_categorical(data.y[0], kClasses), dtype)};
  return data;
}

Model with_loss(const std::string& dtype, const Layer& last, const Loss& loss, double rate = 0.1) {
  const Sequential net({Input({kFeatures}, {.dtype = dtype}),
                        Dense(8, {.activation = "tanh", .dtype = dtype}), Dense(kClasses, {.dtype = dtype}),
                        last});
  net.compile({.optimizer = SGD({.learning_rate = rate, .momentum = 0.9}), .loss = loss});
  return net;
}

PromiseCase overlap(const std::string& name, const Loss& loss, bool weighted) {
  return {name,
          [=](const std::string& dtype) {
            return with_loss(dtype, Activation("softmax", {.dtype = dtype}), loss);
          },
          [=](DType dtype) {
            CaseData data = one_hot_table(dtype);
            if (weighted) data.fit.sample_weight = weights(33, dtype);
            return data;
          }};
}

TEST(PromiseOfLosses, Dice) {
  expect_promise(overlap("Dice of the whole batch", Dice(), false));
  expect_promise(overlap("Dice per class", Dice({.axis = {0}}), false));
  expect_promise(overlap("Dice per row, weights", Dice({.axis = {1}}), true));
}

TEST(PromiseOfLosses, Tversky) {
  expect_promise(overlap("Tversky of the whole batch", Tversky({.alpha = 0.3, .beta = 0.7}), false));
  expect_promise(overlap("Tversky per class, sum", Tversky({.reduction = "sum", .axis = {0}}), false));
}

PromiseCase circle(const std::string& name, const CircleConfig& config, bool weighted) {
  return {name,
          [=](const std::string& dtype) {
            const Lambda on_the_sphere(
                [](const Tensor& x) { return x / ops::sqrt(ops::sum(ops::square(x), {-1}, true) + 1e-6); },
                {.dtype = dtype});
            return with_loss(dtype, on_the_sphere, Circle(config), 0.02);
          },
          [=](DType dtype) {
            CaseData data = table(dtype, 38);  // the last batch has 6 rows
            if (weighted) data.fit.sample_weight = weights(38, dtype);
            return data;
          }};
}

TEST(PromiseOfLosses, Circle) {
  expect_promise(circle("Circle", {.gamma = 2.0}, false));
  expect_promise(circle("Circle, sum, weights", {.gamma = 0.5, .reduction = "sum"}, true));
}

PromiseCase optimized(const std::string& name, const std::function<Optimizer()>& optimizer) {
  return {name,
          [=](const std::string& dtype) {
            const Sequential net(
                {Input({kFeatures}, {.dtype = dtype}), Dense(8, {.activation = "tanh", .dtype = dtype}),
                 Dense(5, {.activation = "sigmoid", .dtype = dtype}), Dense(kClasses, {.dtype = dtype})});
            net.compile({.optimizer = optimizer(),
                         .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                         .metrics = {"accuracy"}});
            return net;
          },
          [](DType dtype) { return table(dtype); }};
}

// They need whole weights and gradients: norms of a weight, means of rows and columns, products of matrices.
TEST(PromiseOfOptimizers, Adafactor) {
  expect_promise(optimized("Adafactor", [] { return Adafactor({.learning_rate = 0.02}); }));
  expect_promise(optimized("Adafactor, accumulation", [] {
    return Adafactor({.learning_rate = 0.02, .clipnorm = 0.5, .gradient_accumulation_steps = 2});
  }));
}

TEST(PromiseOfOptimizers, Lamb) {
  expect_promise(
      optimized("Lamb", [] { return Lamb({.learning_rate = 0.02, .weight_decay = 0.01, .use_ema = true}); }));
}

TEST(PromiseOfOptimizers, Muon) {
  expect_promise(optimized("Muon", [] { return Muon({.learning_rate = 0.02}); }));
  expect_promise(optimized("Muon, global_clipnorm", [] {
    return Muon({.learning_rate = 0.02, .global_clipnorm = 0.1, .nesterov = false});
  }));
}

TEST(PromiseOfOptimizers, TheOthers) {
  expect_promise(optimized("Adagrad", [] { return Adagrad({.learning_rate = 0.05}); }));
  expect_promise(optimized("Adadelta", [] { return Adadelta({.learning_rate = 0.5}); }));
  expect_promise(optimized("Adamax", [] { return Adamax({.learning_rate = 0.02}); }));
  expect_promise(optimized("Nadam", [] { return Nadam({.learning_rate = 0.02}); }));
  expect_promise(
      optimized("Ftrl", [] { return Ftrl({.learning_rate = 0.05, .l1_regularization_strength = 1e-4}); }));
  expect_promise(optimized("Lion", [] { return Lion({.learning_rate = 0.01}); }));
  expect_promise(optimized("ScheduleFreeAdamW", [] { return ScheduleFreeAdamW({.learning_rate = 0.02}); }));
}

TEST(PromiseOfScaledLosses, AFactorChangesNothing) {
  const auto scaled = [](double factor) {
    return optimized("loss_scale_factor", [=] {
      return SGD({.learning_rate = 0.1, .momentum = 0.9, .clipnorm = 0.2, .loss_scale_factor = factor});
    });
  };
  expect_promise(scaled(1024.0));
  expect_promise(optimized("loss_scale_factor, accumulation", [] {
    return Adam({.learning_rate = 0.02, .loss_scale_factor = 64.0, .gradient_accumulation_steps = 3});
  }));
  configure_logical_devices("cpu", 2);
  const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}, .shared_weights = SharedWeights::never});
  const Outcome plain = outcome_of(scaled(kNoValue), two, DType::float64);
  const Difference difference =
      difference_of(outcome_of(scaled(1024.0), two, DType::float64), plain, DType::float64);
  EXPECT_LE(difference.allowed, 1.0) << difference.where;
  configure_logical_devices("cpu", 1);
}

/// Words of which word 0 is padding; a tag per word, or one per row.
PromiseCase masked(const std::string& name, const Loss& loss, bool tags, bool weight_per_step) {
  const auto make = [=](const std::string& dtype) {
    const Sequential net(
        {Input({kSteps}, {.dtype = "int64"}), Embedding(kWords, 4, {.mask_zero = true, .dtype = dtype}),
         LSTM(4, {.return_sequences = tags, .dtype = dtype}), Dense(kClasses, {.dtype = dtype})});
    net.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = loss,
                 .weighted_metrics = {"accuracy"}});
    return net;
  };
  const auto data = [=](DType dtype) {
    constexpr int64_t kRows = 21;
    CaseData out = table(dtype, kRows);
    out.x = {random_labels(31, kRows * kSteps, kWords).with_shape({kRows, kSteps})};
    out.y = {random_labels(32, kRows, kClasses)};
    if (tags) out.y = {random_labels(33, kRows * kSteps, kClasses).with_shape({kRows, kSteps})};
    out.fit.sample_weight =
        weight_per_step ? weights(kRows * kSteps, dtype).with_shape({kRows, kSteps}) : weights(kRows, dtype);
    return out;
  };
  return {name, make, data};
}

Loss words(const std::string& reduction) {
  return SparseCategoricalCrossentropy({.from_logits = true, .reduction = reduction});
}

TEST(PromiseOfMasks, WithSampleWeights) {
  expect_promise(masked("a class per row", words("sum_over_batch_size"), false, false));
  expect_promise(masked("a tag per word", words("sum_over_batch_size"), true, true));
  expect_promise(masked("a tag per word, weights of rows", words("sum_over_batch_size"), true, false));
  expect_promise(masked("sum", words("sum"), true, true));
  expect_promise(masked("mean_with_sample_weight", words("mean_with_sample_weight"), true, true));
}

}  // namespace
}  // namespace nyala::promise_more_test
