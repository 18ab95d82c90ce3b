#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

TEST(LayerArguments, HandlesHaveTheSizeOfALayer) {
  EXPECT_EQ(sizeof(Conv2D), sizeof(Layer));
  EXPECT_EQ(sizeof(BatchNormalization), sizeof(Layer));
  const std::vector<Layer> list = {Conv2D(4, 3), MaxPooling2D(), Flatten(), Dense(2)};
  EXPECT_EQ(list[1].class_name(), "MaxPooling2D");
}

TEST(LayerArguments, SizesAreOneNumberOrTwo) {
  const Tensor x = Tensor::zeros({1, 6, 12, 1});
  EXPECT_EQ(MaxPooling2D({3, 2})(x).shape(), Shape({1, 2, 6, 1}));
  EXPECT_EQ(MaxPooling2D({2, 2})(x).shape(), Shape({1, 3, 6, 1}));
  EXPECT_EQ(MaxPooling2D()(x).shape(), Shape({1, 3, 6, 1}));
  EXPECT_EQ(AveragePooling2D(3)(x).shape(), Shape({1, 2, 4, 1}));
  EXPECT_EQ(AveragePooling2D({.pool_size = {1, 3}, .strides = 1})(x).shape(), Shape({1, 6, 10, 1}));
  EXPECT_EQ(Conv2D(2, {3, 5}, {.strides = {1, 2}})(x).shape(), Shape({1, 4, 4, 2}));
  EXPECT_EQ(Conv2D({.filters = 2, .kernel_size = 3, .padding = "same"})(x).shape(), Shape({1, 6, 12, 2}));
  EXPECT_EQ(ZeroPadding2D({1, 0})(x).shape(), Shape({1, 8, 12, 1}));
  EXPECT_EQ(ZeroPadding2D({{1, 2}, {0, 3}})(x).shape(), Shape({1, 9, 15, 1}));
  EXPECT_EQ(Softmax({1, 2})(x).shape(), x.shape());
}

TEST(LayerArguments, ConvolutionErrorsNameFieldExpectedAndReceived) {
  expect_error<InvalidArgumentError>([] { Conv2D(0, 3); }, {"Conv2D", "filters > 0", "received 0"});
  expect_error<InvalidArgumentError>([] { Conv2D(2, {3, 0}); }, {"kernel_size", "(3, 0)"});
  expect_error<InvalidArgumentError>([] { Conv2D({.filters = 2}); }, {"kernel_size", "None"});
  expect_error<InvalidArgumentError>([] { Conv2D(2, 3, {.strides = 0}); }, {"strides"});
  expect_error<InvalidArgumentError>([] { Conv2D(2, 3, {.padding = "sam"}); }, {"did you mean 'same'?"});
  expect_error<InvalidArgumentError>([] { Conv2D(2, 3, {.padding = "causal"}); }, {"'causal'"});
  expect_error<InvalidArgumentError>([] { Conv2D(2, 3, {.strides = 2, .dilation_rate = 2}); },
                                     {"strides (2, 2)", "dilation_rate (2, 2)"});
  expect_error<InvalidArgumentError>([] { Conv2D(3, 3, {.groups = 2}); }, {"filters 3", "groups 2"});
  expect_error<InvalidArgumentError>([] { Conv2D(3, 3, {.groups = -1}); }, {"groups > 0"});
  expect_error<InvalidArgumentError>([] { Conv2D(3, 3, {.activation = "rel"}); }, {"'relu'"});
  expect_error<InvalidArgumentError>([] { ConvLSTM2D(3, 3, {.data_format = "channels_first"}); },
                                     {"not supported yet"});
}

TEST(LayerArguments, OtherConstructorErrors) {
  expect_error<InvalidArgumentError>([] { Dense(0); }, {"Dense", "units > 0", "received 0"});
  expect_error<InvalidArgumentError>([] { Dropout(1.5); }, {"Dropout", "[0, 1]", "1.5"});
  expect_error<InvalidArgumentError>([] { Dropout(0.5, {.noise_shape = {1, 0}}); }, {"noise_shape"});
  expect_error<InvalidArgumentError>([] { MaxPooling2D(0); }, {"MaxPooling2D", "pool_size"});
  expect_error<InvalidArgumentError>([] { MaxPooling2D(2, {.padding = "foo"}); }, {"'foo'"});
  expect_error<InvalidArgumentError>([] { AveragePooling2D(AveragePooling2DConfig{}); }, {"pool_size"});
  expect_error<InvalidArgumentError>([] { GlobalMaxPooling2D({.data_format = "channel_last"}); },
                                     {"did you mean 'channels_last'?"});
  expect_error<InvalidArgumentError>([] { ReLU({.max_value = -1}); }, {"max_value >= 0"});
  expect_error<InvalidArgumentError>([] { ReLU({.negative_slope = -0.1}); }, {"negative_slope"});
  expect_error<InvalidArgumentError>([] { Reshape({-1, -1}); }, {"(-1, -1)"});
  expect_error<InvalidArgumentError>([] { ZeroPadding2D(-1); }, {"padding >= 0"});
  expect_error<InvalidArgumentError>([] { BatchNormalization({.momentum = 2}); }, {"momentum"});
  expect_error<InvalidArgumentError>([] { BatchNormalization({.epsilon = -1}); }, {"epsilon"});
}

TEST(LayerArguments, ShapeErrorsNameLayerAndShape) {
  const Tensor image = Tensor::zeros({1, 4, 4, 3});
  expect_error<ShapeError>([&] { Conv2D(2, 5, {.name = "stem"})(image); },
                           {"layer 'stem' (Conv2D)", "no rows", "(1, 4, 4, 3)"});
  expect_error<ShapeError>([&] { Conv2D(2, 3, {.dilation_rate = 2})(image); }, {"at least 5"});
  expect_error<ShapeError>([&] { Conv2D(2, 3, {.groups = 2})(image); }, {"channels that groups (2)"});
  expect_error<ShapeError>([&] { MaxPooling2D({1, 5})(image); }, {"no columns"});
  expect_error<ShapeError>([] { Conv2D(2, 3)(Tensor::zeros({4, 4, 3})); }, {"rank 4", "(4, 4, 3)"});
  expect_error<ShapeError>([] { GlobalMaxPooling2D()(Tensor::zeros({4, 4})); }, {"rank 4"});
  expect_error<ShapeError>([] { Dense(2)(Tensor::zeros({4})); }, {"rank 2"});
  expect_error<ShapeError>([&] { Reshape({5, -1})(image); }, {"48 elements", "(5, -1)"});
  expect_error<ShapeError>([&] { Reshape({7})(image); }, {"48 elements", "(7)"});
  expect_error<ShapeError>([&] { BatchNormalization({.axis = 7})(image); }, {"7"});
  expect_error<ShapeError>([&] { Softmax(9)(image); }, {"9"});
}

TEST(LayerArguments, MergingErrors) {
  const Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({2, 5}), c = Tensor::zeros({4, 3});
  expect_error<ShapeError>([&] { Add()({a, b}); }, {"(2, 3)", "(2, 5)"});
  expect_error<ShapeError>([&] { Add()({a, c}); }, {"batch size"});
  expect_error<ShapeError>([&] { Concatenate(0)({a, b}); }, {"(2, 3)", "(2, 5)"});
  expect_error<ShapeError>([&] { Concatenate()({a, Tensor::zeros({2, 3, 1})}); }, {"(2, 3, 1)"});
  EXPECT_EQ(Add()({a, Tensor::zeros({2, 1})}).shape(), Shape({2, 3}));
  EXPECT_EQ(Add()({Tensor::zeros({2, 4, 3}), a}).shape(), Shape({2, 4, 3}));
  EXPECT_EQ(Add()({a}).shape(), a.shape());
}

TEST(LayerArguments, DtypesThatLayersTake) {
  const Tensor bytes = Tensor::full({1, 4, 4, 1}, 51, DType::uint8);
  const Tensor scaled = Rescaling(1 / 255.0, {.offset = 1.0})(bytes);
  EXPECT_EQ(scaled.dtype(), DType::float32);
  EXPECT_FLOAT_EQ(scaled.to_vector<float>()[0], 1.2f);
  EXPECT_EQ(Rescaling(2, {.dtype = "float64"})(bytes).dtype(), DType::float64);
  EXPECT_EQ(Flatten()(bytes).dtype(), DType::uint8);
  EXPECT_EQ(ZeroPadding2D()(bytes).dtype(), DType::uint8);
  EXPECT_EQ(GlobalAveragePooling2D()(bytes).dtype(), DType::float32);
  EXPECT_EQ(BatchNormalization()(bytes).dtype(), DType::float32);
  EXPECT_EQ(Softmax()(bytes).dtype(), DType::float32);
}

TEST(LayerArguments, NumbersWhoseSumsOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  expect_error<InvalidArgumentError>([] { ZeroPadding1D{kMost}; }, {"a smaller padding"});
  expect_error<InvalidArgumentError>([] { ZeroPadding2D{int64_t{1} << 62}; }, {"a smaller padding"});
  expect_error<InvalidArgumentError>([] { Cropping1D{kMost - 2}; }, {"a smaller cropping"});
  expect_error<InvalidArgumentError>([] { Cropping2D{kMost}; }, {"a smaller cropping"});
  expect_error<InvalidArgumentError>([] { RepeatVector{kMost}; }, {"a smaller n"});
}

TEST(LayerArguments, ShapesWithoutRowsPass) {
  const Tensor none = Tensor::zeros({0, 4, 4, 2});
  EXPECT_EQ(Conv2D(3, 3, {.activation = "relu"})(none).shape(), Shape({0, 2, 2, 3}));
  EXPECT_EQ(MaxPooling2D()(none).shape(), Shape({0, 2, 2, 2}));
  EXPECT_EQ(GlobalMaxPooling2D()(none).shape(), Shape({0, 2}));
  EXPECT_EQ(GlobalAveragePooling2D()(none).shape(), Shape({0, 2}));
  EXPECT_EQ(Flatten()(none).shape(), Shape({0, 32}));
  EXPECT_EQ(Reshape({-1, 8})(none).shape(), Shape({0, 4, 8}));
  EXPECT_EQ(Concatenate()({none, none}).shape(), Shape({0, 4, 4, 4}));
  EXPECT_EQ(BatchNormalization()(none).shape(), none.shape());
  EXPECT_EQ(Softmax()(none).shape(), none.shape());
}

}  // namespace
}  // namespace nyala
