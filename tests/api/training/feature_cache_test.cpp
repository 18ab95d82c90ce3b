// fit({.cache_frozen_features = true}) trains to the numbers of a fit without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

using namespace nyala::detail;
namespace {

using ::testing::HasSubstr;

Tensor wave(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(factor * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

Tensor labels(int64_t rows) {
  std::vector<int64_t> values;
  for (int64_t row = 0; row < rows; ++row) values.push_back(row * row % 5 % 3);
  return Tensor::from(values, {rows});
}

/// Counts the rows that go through it in training and otherwise. Has a frozen weight.
struct CountedNode : LayerNode {
  std::string class_name() const override { return "Counted"; }
  void build(Builder& b, const Shape& input) override { scale = b.weight("scale", {input.back()}, "ones"); }
  Tensor call(Call& c, const Tensor& x) const override {
    if (!x.is_abstract()) (c.training() ? trained_rows : other_rows) += x.shape()[0];
    return x * c[scale];
  }
  Variable scale;
  mutable std::atomic<int64_t> trained_rows{0}, other_rows{0};
};

constexpr int64_t kRows = 22;

class FeatureCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 3);
    fresh();
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }
  static void fresh() {
    clear_session();
    set_random_seed(11);
  }
  static void compile(const Model& model) {
    model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
  }
  static Tensor images() { return wave({kRows, 8, 8, 3}, 0.37); }
  static Tensor unseen() { return wave({7, 8, 8, 3}, 0.53); }

  /// A frozen network with a residual connection; what trains stands behind.
  static Model base() {
    const Tensor x = Input({8, 8, 3});
    const Tensor a = ReLU()(BatchNormalization()(Conv2D(6, 3, {.padding = "same"})(x)));
    const Tensor b = Conv2D(6, 3, {.padding = "same", .name = "second"})(a);
    const Tensor y = ReLU()(BatchNormalization({.name = "second_bn"})(Add()({a, b})));
    return Model(x, y);
  }
  static Model usual() {
    const Model frozen = base();
    frozen.set_trainable(false);
    const Tensor x = Input({8, 8, 3});
    const Tensor features = GlobalAveragePooling2D()(frozen(Rescaling(0.5)(x)));
    const Tensor y = Dense(3, {.kernel_regularizer = L2(0.01)})(Dropout(0.3)(features));
    const Model model(x, y);
    compile(model);
    return model;
  }
  /// The second convolution trains: the cut goes through the model inside, and cuts its shortcut, too.
  static Model partly() {
    const Model inside = base();
    inside.set_trainable(false);
    inside.get_layer("second").set_trainable(true);
    const Tensor x = Input({8, 8, 3});
    const Tensor y = Dense(3)(GlobalAveragePooling2D()(inside(x * 2.0)));
    const Model model(x, y);
    compile(model);
    return model;
  }
  static Model chain() {
    const Sequential model({Input({8, 8, 3}), Conv2D(5, 3, {.activation = "relu", .trainable = false}),
                            BatchNormalization({.trainable = false}), ReLU(), Flatten(), Dropout(0.2),
                            Dense(4, {.activation = "tanh"}), Dense(3)});
    compile(model);
    return model;
  }

  /// The mean over the batch has no rows: what makes it stays behind the cut.
  static Model centred() {
    const Tensor x = Input({8, 8, 3});
    const Tensor features = Dense(5, {.trainable = false})(Flatten()(x));
    const Model model(x, Dense(3)(features - ops::mean(features, {0}, true)));
    compile(model);
    return model;
  }

  struct Trained {
    History history;
    std::vector<Tensor> weights;
  };
  static Trained trained(const Strategy& strategy, Model (*make)(), FitConfig config, bool cached) {
    fresh();
    const Model model = strategy.scope(make);
    config.batch_size = 6;
    config.epochs = 3;
    config.verbose = 0;
    config.cache_frozen_features = cached;
    const History history = model.fit(images(), labels(kRows), config);
    return {history, model.get_weights()};
  }
  static void expect_same(const Trained& a, const Trained& b) {
    for (const auto& [name, values] : b.history.history()) {
      const std::vector<double> received = a.history[name];
      ASSERT_EQ(received.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(received[i], values[i], 1e-4) << name << i;
    }
    ASSERT_EQ(a.weights.size(), b.weights.size());
    for (size_t i = 0; i < a.weights.size(); ++i) {
      const auto x = a.weights[i].to_vector<float>(), y = b.weights[i].to_vector<float>();
      for (size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], 2e-4) << "weight " << i;
    }
  }
};

TEST_F(FeatureCacheTest, TrainsToTheSameNumbersUnderEveryStrategy) {
  const std::vector<Strategy> strategies = {
      OneDeviceStrategy("cpu:0"), MirroredStrategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}}),
      CentralStorageStrategy({.compute_devices = {"cpu:0", "cpu:1"}, .parameter_device = "cpu:0"})};
  for (Model (*make)() : {usual, partly, chain}) {
    for (const Strategy& strategy : strategies) {
      SCOPED_TRACE(strategy.describe());
      const FitConfig config = {.validation_data = DataArgument(unseen(), labels(7))};
      expect_same(trained(strategy, make, config, true), trained(strategy, make, config, false));
    }
  }
}

TEST_F(FeatureCacheTest, WhatHasNoRowsIsComputedAnew) {
  const OneDeviceStrategy one("cpu:0");
  expect_same(trained(one, centred, {}, true), trained(one, centred, {}, false));
}

TEST_F(FeatureCacheTest, WeightsAndClassesGoAlong) {
  const OneDeviceStrategy one("cpu:0");
  const FitConfig by_class = {.class_weight = {{0, 0.5}, {2, 2.0}}};
  expect_same(trained(one, usual, by_class, true), trained(one, usual, by_class, false));
  const FitConfig by_row = {.sample_weight = ops::abs(wave({kRows}, 0.9))};
  expect_same(trained(one, usual, by_row, true), trained(one, usual, by_row, false));
}

TEST_F(FeatureCacheTest, ShuffledDatasetsFindTheirRowsAgain) {
  const auto run = [&](bool cached) {
    fresh();
    const Model model = usual();
    const Dataset data =
        Dataset::from_tensor_slices(images(), labels(kRows)).shuffle(9, {.seed = 4}).batch(5);
    const History history = model.fit(data, {.epochs = 4, .verbose = 0, .cache_frozen_features = cached});
    return Trained{history, model.get_weights()};
  };
  expect_same(run(true), run(false));
}

TEST_F(FeatureCacheTest, EachRowIsComputedOnce) {
  const Layer counted = make_layer<CountedNode>();
  counted.set_trainable(false);
  const Sequential model({Input({4}), counted, Dense(3)});
  compile(model);
  model.fit(wave({40, 4}, 0.7), labels(40),
            {.batch_size = 16,
             .epochs = 5,
             .verbose = 0,
             .validation_data = DataArgument(wave({10, 4}, 0.3), labels(10)),
             .cache_frozen_features = true});
  const auto& node = static_cast<const CountedNode&>(counted.node());
  EXPECT_EQ(node.trained_rows, 40 + 1);  // one row alone, to see that rows do not depend on each other
  EXPECT_EQ(node.other_rows, 10);
}

/// What is random in front of the cut is behind it, not frozen in time.
TEST_F(FeatureCacheTest, RandomLayersEndThePrefix) {
  const Layer counted = make_layer<CountedNode>();
  counted.set_trainable(false);
  const Sequential model({Input({4}), Dense(6, {.trainable = false}), Dropout(0.5), counted, Dense(3)});
  compile(model);
  model.fit(wave({8, 4}, 0.7), labels(8),
            {.batch_size = 8, .epochs = 3, .verbose = 0, .cache_frozen_features = true});
  EXPECT_EQ(static_cast<const CountedNode&>(counted.node()).trained_rows, 3 * 8);
}

template <class ModelType>
std::string refusal(const ModelType& model, const FitConfig& more = {}) {
  FitConfig config = more;
  config.epochs = 2;
  config.verbose = 0;
  config.cache_frozen_features = true;
  return error_text<InvalidArgumentError>([&] { model.fit(wave({8, 4}, 0.7), labels(8), config); });
}

struct Net : ModelNode {
  Dense dense = track("dense", Dense(3));
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
};

/// A row's result depends on the rows around it.
struct CentredNode : LayerNode {
  std::string class_name() const override { return "Centred"; }
  Tensor call(Call&, const Tensor& x) const override { return x - ops::mean(x, {0}, true); }
};

struct OwnLoss : Net {
  Tensor compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) override {
    return step.compiled_loss(batch, predictions);
  }
};

TEST_F(FeatureCacheTest, SaysWhyNothingCanBeKept) {
  const auto compiled = [](const Model& model) {
    compile(model);
    return model;
  };
  EXPECT_THAT(refusal(compiled(Sequential({Input({4}), Dense(5, {.name = "first"}), Dense(3)}))),
              HasSubstr("layer 'first' (Dense) trains"));
  EXPECT_THAT(refusal(compiled(
                  Sequential({Input({4}), GaussianNoise(0.1), Dense(5, {.trainable = false}), Dense(3)}))),
              HasSubstr("draws random numbers"));
  const BatchNormalization statistics({.center = false, .scale = false, .name = "statistics"});
  EXPECT_THAT(
      refusal(compiled(Sequential({Input({4}), statistics, Dense(5, {.trainable = false}), Dense(3)}))),
      HasSubstr("'statistics' (BatchNormalization) keeps state"));
  EXPECT_THAT(refusal(compiled(Sequential({Input({4}), Dense(3, {.trainable = false})}))),
              HasSubstr("nothing that trains"));
  EXPECT_THAT(refusal(compiled(make_model<Net>())), HasSubstr("Sequential or functional"));
  EXPECT_THAT(refusal(compiled(make_model<OwnLoss>())), HasSubstr("compute_loss()"));
  const Tensor x = Input({4});
  const Tensor mixed = make_layer<CentredNode>()(Dense(5, {.trainable = false})(x));
  EXPECT_THAT(refusal(compiled(Model(x, Dense(3)(mixed)))), HasSubstr("depend on the other rows"));
}

TEST_F(FeatureCacheTest, SaysThatTheDataChanges) {
  const Model model = usual();
  const auto data = Dataset::from_tensor_slices(images(), labels(kRows))
                        .map([](Element e, DrawStream& random) {
                          e.x[0] = e.x[0] * random.uniform(0.5, 1.5);
                          return e;
                        })
                        .batch(8);
  const FitConfig config = {.epochs = 3, .verbose = 0, .cache_frozen_features = true};
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(data, config); }),
              HasSubstr("no row of epoch 2 was seen"));
}

/// The layer of a larger model may still be trained for itself afterwards.
TEST_F(FeatureCacheTest, LeavesTheModelAsItIs) {
  const Model model = usual();
  const std::string before = model.to_json();
  model.fit(images(), labels(kRows), {.epochs = 1, .verbose = 0, .cache_frozen_features = true});
  EXPECT_EQ(model.to_json(), before);
  const std::string name = unique_name("Dense");
  EXPECT_EQ(name, "dense_1");
  model.fit(images(), labels(kRows), {.epochs = 1, .verbose = 0});
  EXPECT_EQ(model.predict(images(), {.verbose = 0}).shape(), (Shape{kRows, 3}));
}

}  // namespace
}  // namespace nyala
