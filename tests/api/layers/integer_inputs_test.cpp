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

/// In models without an Input they arrive as they are: maxima of whole numbers are whole numbers, as in
/// Keras, and what needs floats makes them (Keras refuses).
TEST(IntegerInputs, ReachLayersWithoutWeights) {
  const Tensor images = Tensor::arange(16).reshape({1, 4, 4, 1});
  for (const DType dtype : {DType::int32, DType::int64, DType::uint8}) {
    const Tensor largest = MaxPooling2D(2)(images.astype(dtype));
    EXPECT_EQ(largest.dtype(), dtype);
    EXPECT_EQ(largest.astype("int32").to_vector<int32_t>(), (std::vector<int32_t>{5, 7, 13, 15}));
    EXPECT_EQ(GlobalMaxPooling2D()(images.astype(dtype)).dtype(), dtype);
  }
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(
      MaxPooling1D(2)(Tensor::from(std::vector<int64_t>{big - 1, big}, {1, 2, 1})).to_vector<int64_t>()[0],
      big);
  expect_cast(AveragePooling2D(2), images);
  expect_cast(AveragePooling1D(2), images.reshape({1, 4, 4}));
  expect_cast(GlobalAveragePooling2D(), images);
  expect_cast(Softmax(), images);
  expect_cast(UnitNormalization(), images);
  const Tensor mask = Tensor({{1, 1, 0}}).astype("bool"), scores({{1, 2, 3}});
  EXPECT_EQ(Softmax()(scores.astype("int32"), {.mask = mask}).to_vector<float>(),
            Softmax()(scores, {.mask = mask}).to_vector<float>());
}

struct Pooled : ModelNode {
  Layer pool = track("pool", MaxPooling2D(2)), flatten = track("flatten", Flatten()),
        dense = track("dense", Dense(1));
  using ModelNode::call;
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, flatten(c, pool(c, x))); }
};

TEST(IntegerInputs, TrainASubclassedModelThatPoolsThem) {
  set_random_seed(3);
  const Model model = make_model<Pooled>();
  model.compile({.optimizer = SGD(1e-4), .loss = "mse"});
  const Tensor x = Tensor::arange(32).reshape({2, 4, 4, 1});
  EXPECT_GT(model.fit(x, Tensor::ones({2, 1}), {.verbose = 0}).last("loss"), 0.0);
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
