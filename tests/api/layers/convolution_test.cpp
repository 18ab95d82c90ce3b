#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

Shape names_of_weights(const Layer& layer, std::vector<std::string>& names) {
  names.clear();
  Shape counts;
  for (const Variable& weight : layer.weights()) {
    names.push_back(weight.name());
    counts.append(weight.shape().rank());
  }
  return counts;
}

TEST(Convolutions, LengthsAreKeras) {
  const Tensor steps = Tensor::zeros({2, 10, 3});
  EXPECT_EQ(Conv1D(4, 3)(steps).shape(), Shape({2, 8, 4}));
  EXPECT_EQ(Conv1D(4, 3, {.strides = 3, .padding = "same"})(steps).shape(), Shape({2, 4, 4}));
  EXPECT_EQ(Conv1D(4, 3, {.strides = 2, .padding = "causal"})(steps).shape(), Shape({2, 5, 4}));
  EXPECT_EQ(Conv1D(4, 4, {.padding = "CAUSAL", .dilation_rate = 5})(steps).shape(), Shape({2, 10, 4}));
  EXPECT_EQ(DepthwiseConv1D(3, {.strides = 2, .depth_multiplier = 2})(steps).shape(), Shape({2, 4, 6}));
  EXPECT_EQ(SeparableConv1D(5, 3, {.padding = "same"})(steps).shape(), Shape({2, 10, 5}));
  const Tensor volume = Tensor::zeros({1, 4, 6, 8, 2});
  EXPECT_EQ(Conv3D(3, 2)(volume).shape(), Shape({1, 3, 5, 7, 3}));
  EXPECT_EQ(Conv3D(3, {1, 2, 3}, {.strides = {2, 2, 3}})(volume).shape(), Shape({1, 2, 3, 2, 3}));
}

TEST(Convolutions, TransposedLengthsAreKeras) {
  const Tensor image = Tensor::zeros({2, 4, 5, 3});
  EXPECT_EQ(Conv2DTranspose(6, 3)(image).shape(), Shape({2, 6, 7, 6}));
  EXPECT_EQ(Conv2DTranspose(6, 3, {.strides = 2, .padding = "same"})(image).shape(), Shape({2, 8, 10, 6}));
  EXPECT_EQ(Conv2DTranspose(6, 2, {.strides = 3})(image).shape(), Shape({2, 12, 15, 6}));
  EXPECT_EQ(Conv2DTranspose(6, 3, {.strides = 2, .output_padding = 1})(image).shape(), Shape({2, 10, 12, 6}));
  EXPECT_EQ(Conv2DTranspose(6, 3, {.strides = 2, .padding = "same", .output_padding = 0})(image).shape(),
            Shape({2, 7, 9, 6}));
  EXPECT_EQ(Conv2DTranspose(6, {3, 2}, {.dilation_rate = 2})(image).shape(), Shape({2, 8, 7, 6}));
  EXPECT_EQ(Conv1DTranspose(6, 5, {.strides = 2})(Tensor::zeros({2, 4, 3})).shape(), Shape({2, 11, 6}));
  EXPECT_EQ(Conv3DTranspose(1, 2, {.strides = {1, 2, 3}, .padding = "same"})(Tensor::zeros({1, 2, 2, 2, 3}))
                .shape(),
            Shape({1, 2, 4, 6, 1}));
}

TEST(Convolutions, WeightsAreNamedAndShapedAsKeras) {
  const Tensor image = Tensor::zeros({1, 6, 6, 3}), steps = Tensor::zeros({1, 6, 3});
  const Layer separable = SeparableConv2D(5, 3, {.depth_multiplier = 2});
  separable(image);
  std::vector<std::string> names;
  EXPECT_EQ(names_of_weights(separable, names), Shape({4, 4, 1}));
  EXPECT_EQ(names, (std::vector<std::string>{"depthwise_kernel", "pointwise_kernel", "bias"}));
  EXPECT_EQ(separable.weights()[0].shape(), Shape({3, 3, 3, 2}));
  EXPECT_EQ(separable.weights()[1].shape(), Shape({1, 1, 6, 5}));
  const Layer depthwise = DepthwiseConv1D(4, {.depth_multiplier = 2});
  depthwise(steps);
  EXPECT_EQ(names_of_weights(depthwise, names), Shape({3, 1}));
  EXPECT_EQ(names, (std::vector<std::string>{"kernel", "bias"}));
  EXPECT_EQ(depthwise.weights()[0].shape(), Shape({4, 3, 2}));
  EXPECT_EQ(depthwise.weights()[1].shape(), Shape({6}));
  const Layer transposed = Conv2DTranspose(5, {2, 3}, {.use_bias = false});
  transposed(image);
  EXPECT_EQ(names_of_weights(transposed, names), Shape({4}));
  EXPECT_EQ(transposed.weights()[0].shape(), Shape({2, 3, 5, 3}));
}

TEST(Convolutions, CausalStepsSeeNoLaterOne) {
  const Layer layer = Conv1D(2, 3, {.padding = "causal", .dilation_rate = 2});
  Tensor x = Tensor::full({1, 8, 2}, 0.5);
  const std::vector<float> before = layer(x).to_vector<float>();
  x.data<float>()[5 * 2] = 7;
  const std::vector<float> after = layer(x).to_vector<float>();
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i] == after[i], i / 2 != 5 && i / 2 != 7) << "step " << i / 2;
}

void expect_same_moved_round(const Layer& first, const Layer& last, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 89) / 89;
  const Tensor x(values, shape);
  first(x);
  last(ops::moveaxis(x, 1, -1));
  last.set_weights(first.get_weights());
  const Tensor y = first(x), expected = ops::moveaxis(last(ops::moveaxis(x, 1, -1)), -1, 1);
  EXPECT_EQ(y.shape(), expected.shape());
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
}

TEST(Convolutions, ChannelsFirstIsTheSameMovedRound) {
  const std::string format = "channels_first";
  expect_same_moved_round(Conv1D(3, 2, {.padding = "causal", .data_format = format}),
                          Conv1D(3, 2, {.padding = "causal"}), {2, 4, 6});
  expect_same_moved_round(Conv2D(3, 3, {.data_format = format, .activation = "relu"}),
                          Conv2D(3, 3, {.activation = "relu"}), {2, 4, 6, 5});
  expect_same_moved_round(Conv3D(2, 2, {.data_format = format}), Conv3D(2, 2), {1, 2, 3, 4, 5});
  expect_same_moved_round(Conv2DTranspose(2, 3, {.strides = 2, .data_format = format}),
                          Conv2DTranspose(2, 3, {.strides = 2}), {1, 2, 3, 4});
  expect_same_moved_round(DepthwiseConv2D(3, {.data_format = format}), DepthwiseConv2D(3), {1, 2, 5, 4});
  expect_same_moved_round(SeparableConv2D(2, 3, {.data_format = format}), SeparableConv2D(2, 3),
                          {1, 2, 5, 4});
}

TEST(Convolutions, ConstructorErrors) {
  using Error = InvalidArgumentError;
  expect_error<Error>([] { Conv1D(0, 3); }, {"Conv1D", "filters > 0"});
  expect_error<Error>([] { Conv1D({.filters = 2}); }, {"Conv1D", "kernel_size > 0", "None"});
  expect_error<Error>([] { Conv1D(2, 3, {.padding = "casual"}); },
                      {"'valid', 'same' or 'causal'", "did you mean 'causal'"});
  expect_error<Error>([] { Conv3D(2, 3, {.padding = "causal"}); }, {"Conv3D", "'causal'"});
  expect_error<Error>([] { Conv3D(2, {3, 0, 1}); }, {"kernel_size", "(3, 0, 1)"});
  expect_error<Error>([] { Conv3D(2, 3, {.strides = 2, .dilation_rate = 2}); }, {"strides (2, 2, 2)"});
  expect_error<Error>([] { Conv1D(2, int64_t{1} << 40); }, {"smaller kernel_size"});
  expect_error<Error>([] { Conv1D(2, 1 << 20, {.padding = "causal", .dilation_rate = 1 << 20}); },
                      {"'causal'", "1048576"});
  expect_error<Error>([] { Conv1D(3, 3, {.groups = 2}); }, {"filters 3", "groups 2"});
  expect_error<Error>([] { Conv2DTranspose(2, 3, {.strides = 2, .output_padding = 2}); },
                      {"Conv2DTranspose", "output_padding", "(2, 2)"});
  expect_error<Error>([] { Conv1DTranspose(2, 3, {.output_padding = 1}); }, {"output_padding", "received 1"});
  expect_error<Error>([] { Conv2DTranspose(2, 3, {.strides = 2, .dilation_rate = 2}); },
                      {"dilation_rate (2, 2)"});
  expect_error<Error>([] { DepthwiseConv2D(3, {.depth_multiplier = 0}); },
                      {"DepthwiseConv2D", "depth_multiplier > 0"});
  expect_error<Error>([] { SeparableConv1D(3, 3, {.depth_multiplier = -1}); }, {"SeparableConv1D", "-1"});
  expect_error<Error>([] { SeparableConv2D(0, 3); }, {"filters > 0"});
  expect_error<Error>([] { Conv3D(1, 1, {.data_format = "channel_first"}); },
                      {"Conv3D", "did you mean 'channels_first'"});
  expect_error<Error>([] { Conv2D(1, 1, {.data_format = "channels_first", .activation = "softmax"}); },
                      {"'softmax'", "layer of its own"});
}

TEST(Convolutions, ShapeErrorsNameLayerAndShape) {
  const Tensor steps = Tensor::zeros({1, 4, 3});
  expect_error<ShapeError>([&] { Conv1D(2, 5)(steps); }, {"(Conv1D)", "no steps", "at least 5", "(1, 4, 3)"});
  expect_error<ShapeError>([&] { Conv2D(2, 3)(steps); }, {"rank 4"});
  expect_error<ShapeError>(
      [&] {
        Conv3D(2, 3)(Tensor::zeros({1, 2, 9, 9, 1}));
      },
      {"no slices", "window of (3, 3, 3)"});
  expect_error<ShapeError>(
      [&] {
        Conv1D(2, 1)(Tensor::zeros({1, 4, 4, 3}));
      },
      {"rank 3 (batch, steps, channels)"});
  expect_error<ShapeError>([&] { Conv3DTranspose(2, 1)(steps); }, {"rank 5 (batch, depth, height, width"});
  expect_error<ShapeError>([&] { Conv1D(2, 1, {.groups = 2})(steps); }, {"channels that groups (2)"});
  expect_error<ShapeError>(
      [&] {
        Conv1DTranspose(2, 2,
                        {.strides = 2, .padding = "same", .output_padding = 0})(Tensor::zeros({1, 1, 3}));
      },
      {"empty"});
  expect_error<ShapeError>([&] { DepthwiseConv1D(5)(steps); }, {"(DepthwiseConv1D)", "no steps"});
}

TEST(Convolutions, ShapesWithoutRowsPass) {
  const Tensor steps = Tensor::zeros({0, 4, 2}), image = Tensor::zeros({0, 4, 4, 2});
  EXPECT_EQ(Conv1D(3, 3)(steps).shape(), Shape({0, 2, 3}));
  EXPECT_EQ(Conv1DTranspose(3, 3)(steps).shape(), Shape({0, 6, 3}));
  EXPECT_EQ(DepthwiseConv2D(3)(image).shape(), Shape({0, 2, 2, 2}));
  EXPECT_EQ(SeparableConv2D(3, 3)(image).shape(), Shape({0, 2, 2, 3}));
  EXPECT_EQ(Conv3D(3, 3)(Tensor::zeros({0, 3, 3, 3, 1})).shape(), Shape({0, 1, 1, 1, 3}));
}

}  // namespace
}  // namespace nyala
