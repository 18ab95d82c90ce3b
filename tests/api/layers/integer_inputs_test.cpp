// Layers with weights take integers as Keras does: in the layer's own dtype.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

/// The layer gives the numbers of the same values as float32.
void expect_cast(const Layer& layer, const Tensor& integers) {
  SCOPED_TRACE(layer.name());
  const Tensor floats = layer(integers.astype(DType::float32)), y = layer(integers);
  ASSERT_EQ(y.dtype(), DType::float32);
  EXPECT_EQ(y.to_vector<float>(), floats.to_vector<float>());
}

TEST(IntegerInputs, AreCastWhereWeightsMeetThem) {
  const Tensor rows = Tensor::arange(8).reshape({2, 4}), steps = Tensor::arange(48).reshape({2, 8, 3});
  const Tensor bytes = Tensor::arange(0, 96, 1, DType::uint8).reshape({2, 4, 4, 3});
  expect_cast(Dense(3), rows);
  expect_cast(EinsumDense({.equation = "ab,bc->ac", .output_shape = {3}}), rows);
  expect_cast(LayerNormalization(), rows);
  expect_cast(BatchNormalization(), rows);
  expect_cast(Conv1D(2, 3), steps);
  expect_cast(Conv2D(2, 3), bytes);
  expect_cast(DepthwiseConv2D(3), bytes);
  expect_cast(SeparableConv2D(2, 3), bytes);
  expect_cast(Conv2DTranspose(2, 3), bytes);
  expect_cast(GroupNormalization(1), bytes);
  expect_cast(LSTM(2), steps);
  expect_cast(GRU(2), steps);
  EXPECT_EQ(Dense(1, {.dtype = "float64"})(rows).dtype(), DType::float64);
}

TEST(IntegerInputs, TrainAModel) {
  set_random_seed(3);
  const Sequential net({Input({4, 4, 1}), Conv2D(2, 3), Flatten(), Dense(1)});
  net.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = Tensor::full({4, 4, 4, 1}, 1, DType::uint8);
  EXPECT_NO_THROW(net.fit(x, Tensor::ones({4, 1}), {.verbose = 0}));
  EXPECT_EQ(net.predict(x, {.verbose = 0}).dtype(), DType::float32);
}

}  // namespace

}  // namespace nyala
