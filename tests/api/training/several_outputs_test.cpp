// The example of docs/features.md: a model of two outputs from compile to predict, on one device and on two.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

namespace {

Model price_and_kind() {
  const Tensor features = Input({4}, {.name = "features"});
  const Tensor hidden = Dense(16, {.activation = "relu"})(features);
  const Tensor price = Dense(1, {.name = "price"})(hidden);
  const Tensor kind = Dense(3, {.activation = "softmax", .name = "kind"})(hidden);
  return Model(features, {price, kind});
}

class SeveralOutputs : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 2); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

TEST_P(SeveralOutputs, FromCompileToPredict) {
  const auto strategy = mirrored(GetParam());
  const auto scope = strategy.scope();
  set_random_seed(1);
  const Tensor x = ops::random_uniform({60, 4});
  const Tensor prices = x.sum(-1, true), kinds = ops::argmax(x(slice(), slice(0, 3)), -1);
  const Tensor weights_of_prices = ops::where(prices > 2.0, 2.0, 1.0).reshape({60});

  const Model model = price_and_kind();
  model.compile({.optimizer = Adam(0.02),
                 .loss = {{"price", "mse"}, {"kind", "sparse_categorical_crossentropy"}},
                 .loss_weights = {{"price", 1.0}, {"kind", 0.5}},
                 .metrics_by_output = {{"price", {"mae"}}, {"kind", {"accuracy"}}}});
  const History history =
      model.fit({x}, {prices, kinds},  // targets in the order of the outputs
                {.batch_size = 20,
                 .epochs = 30,
                 .verbose = 0,
                 .callbacks = {EarlyStopping({.monitor = "val_kind_loss", .patience = 30, .mode = "min"})},
                 .validation_data = {Tensors{x}, Tensors{prices, kinds}},
                 .sample_weight = {{"price", weights_of_prices}}});
  const Logs logs = model.evaluate({x}, {prices, kinds}, {.verbose = 0});
  const Tensors outputs = model.predict_all({x}, {.verbose = 0});
  EXPECT_LT(history.last("price_mae"), 0.3);
  EXPECT_NEAR(history.last("val_loss"), logs["price_loss"] + 0.5 * logs["kind_loss"], 1e-4);
  EXPECT_GT(logs["kind_accuracy"], 0.8);
  EXPECT_EQ(outputs[0].shape(), Shape({60, 1}));
  EXPECT_EQ(outputs[1].shape(), Shape({60, 3}));
}

INSTANTIATE_TEST_SUITE_P(Replicas, SeveralOutputs, ::testing::Values(1, 2));

}  // namespace

}  // namespace nyala
