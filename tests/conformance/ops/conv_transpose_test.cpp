#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/nn/conv_transpose.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using Options2D = ops::ConvTransposeOptions<2>;
using Options3D = ops::ConvTransposeOptions<3>;

struct Case {
  Shape x, kernel;  // kernel (rows, columns, out, in)
  Options2D options;
};

OpFunction transposed_with(const Options2D& options) {
  return [options](const Tensors& t) {
    return ops::conv2d_transpose(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options);
  };
}

Tensors inputs(const Case& c) {
  return {random_tensor(c.x, 1), random_tensor(c.kernel, 2), random_tensor({c.kernel[2]}, 3)};
}

std::vector<Case> cases() {
  return {{{2, 3, 4, 2}, {3, 3, 3, 2}, {}},
          {{1, 3, 2, 2}, {3, 2, 1, 2}, {.strides = {2, 3}}},
          {{1, 3, 4, 2}, {3, 4, 2, 2}, {.strides = {2, 2}, .padding = "same"}},
          {{1, 2, 3, 1}, {1, 2, 2, 1}, {.strides = {3, 4}, .padding = "same"}},
          {{1, 3, 3, 2}, {2, 5, 2, 2}, {.padding = "same"}},
          {{1, 3, 3, 2}, {3, 3, 2, 2}, {.padding = "same", .dilation = {2, 1}}},
          {{1, 3, 3, 2}, {3, 2, 2, 2}, {.dilation = {2, 3}}},
          {{1, 3, 3, 2}, {3, 4, 2, 2}, {.strides = {2, 3}, .output_padding = {{1, 2}}}},
          {{1, 3, 3, 2}, {3, 5, 2, 2}, {.strides = {2, 3}, .padding = "same", .output_padding = {{0, 2}}}},
          {{1, 4, 4, 2}, {4, 4, 2, 2}, {.strides = {2, 2}, .padding = "same", .output_padding = {{0, 1}}}}};
}

/// Keras' rule in its own words (keras.ops documentation of compute_conv_transpose_output_shape).
int64_t keras_length(int64_t n, int64_t kernel, size_t axis, const Options2D& o) {
  const int64_t k = (kernel - 1) * o.dilation[axis] + 1, s = o.strides[axis];
  if (o.padding == "valid") {
    const int64_t added = o.output_padding ? (*o.output_padding)[axis] : std::max(k, s) - k;
    return (n - 1) * s + k + added;
  }
  return o.output_padding ? (n - 1) * s + k % 2 + (*o.output_padding)[axis] : n * s;
}

/// Where the first element of the uncut sum comes to lie: as Keras' JAX backend works it out.
int64_t keras_front(int64_t kernel, size_t axis, const Options2D& o) {
  if (o.padding == "valid") return 0;
  const int64_t k = (kernel - 1) * o.dilation[axis] + 1, s = o.strides[axis];
  const int64_t pad = o.output_padding ? k + k % 2 - 2 + (*o.output_padding)[axis] : s + k - 2;
  return k - 1 - std::min(pad / 2 + pad % 2, k - 1);
}

Tensor scattered(const Case& c, const Tensors& t) {
  const std::vector<double> x = values_of(t[0]), k = values_of(t[1]), bias = values_of(t[2]);
  const Options2D& o = c.options;
  const int64_t height = keras_length(c.x[1], c.kernel[0], 0, o), out = c.kernel[2], in = c.kernel[3];
  const int64_t width = keras_length(c.x[2], c.kernel[1], 1, o);
  const int64_t top = keras_front(c.kernel[0], 0, o), left = keras_front(c.kernel[1], 1, o);
  const Shape shape{c.x[0], height, width, out};
  std::vector<double> y(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i % static_cast<size_t>(out)];
  for (int64_t at = 0; at < t[0].num_elements(); ++at)
    for (int64_t tap = 0; tap < c.kernel[0] * c.kernel[1] * out; ++tap) {
      const int64_t f = tap % out, kx = tap / out % c.kernel[1], ky = tap / out / c.kernel[1];
      const int64_t channel = at % in, ix = at / in % c.x[2], iy = at / in / c.x[2] % c.x[1];
      const int64_t oy = iy * o.strides[0] + ky * o.dilation[0] - top;
      const int64_t ox = ix * o.strides[1] + kx * o.dilation[1] - left;
      if (oy < 0 || oy >= height || ox < 0 || ox >= width) continue;
      const int64_t n = at / in / c.x[2] / c.x[1];
      y[static_cast<size_t>(((n * height + oy) * width + ox) * out + f)] +=
          x[static_cast<size_t>(at)] * k[static_cast<size_t>(tap * in + channel)];
    }
  return tensor_of(y, shape);
}

TEST(ConvTranspose, AddsKernelsUpAndCutsAsKeras) {
  for (const Case& c : cases())
    expect_close(transposed_with(c.options)(inputs(c)), scattered(c, inputs(c)), {1e-5, 1e-5},
                 c.kernel.to_string() + " " + c.options.padding);
}

TEST(ConvTranspose, IsTheTransposeOfTheConvolution) {
  const Tensor x = random_tensor({2, 4, 3, 3}, 1), k = random_tensor({3, 4, 2, 3}, 2);
  const Tensor image = random_tensor({2, 8, 6, 2}, 3);
  const Tensor up = ops::conv2d_transpose(x, k, {}, {.strides = {2, 2}, .padding = "same"});
  const Tensor down = ops::conv2d(image, k, {}, {.strides = {2, 2}, .padding = "same"});
  ASSERT_EQ(up.shape(), image.shape());
  ASSERT_EQ(down.shape(), x.shape());
  EXPECT_NEAR(ops::sum(up * image).item(), ops::sum(x * down).item(), 1e-3);
}

TEST(ConvTranspose, GradientsAreThoseOfDifferences) {
  for (const Case& c : cases()) expect_gradients(transposed_with(c.options), inputs(c));
}

TEST(ConvTranspose, KernelsAgree) {
  std::vector<Case> all = cases();
  all.push_back({{2, 8, 8, 16}, {3, 3, 8, 16}, {.strides = {2, 2}, .padding = "same"}});
  all.push_back({{2, 7, 7, 32}, {5, 5, 16, 32}, {.strides = {1, 1}, .padding = "same"}});
  all.push_back({{2, 6, 6, 3}, {4, 4, 16, 3}, {.strides = {2, 2}}});
  all.push_back({{0, 4, 4, 3}, {3, 3, 2, 3}, {}});
  for (const Case& c : all)
    expect_kernels_agree(transposed_with(c.options), inputs(c),
                         {.relative = 1e-4, .absolute = 1e-3, .half_values = 4, .half_gradients = 8});
}

OpFunction volume_with(const Options3D& options) {
  return [options](const Tensors& t) { return ops::conv3d_transpose(t[0], t[1], t[2], options); };
}

TEST(ConvTranspose, OfVolumes) {
  const std::vector<Options3D> options = {{},
                                          {.strides = {2, 1, 3}},
                                          {.strides = {2, 2, 1}, .padding = "same"},
                                          {.strides = {1, 2, 3}, .output_padding = {{0, 1, 2}}}};
  const Tensors t{random_tensor({1, 2, 3, 2, 2}, 1), random_tensor({3, 2, 2, 3, 2}, 2),
                  random_tensor({3}, 3)};
  for (const Options3D& o : options) {
    expect_gradients(volume_with(o), t);
    expect_kernels_agree(volume_with(o), t,
                         {.relative = 1e-4, .absolute = 1e-4, .half_values = 4, .half_gradients = 8});
  }
  const Tensor image = random_tensor({1, 4, 6, 2, 3}, 4);
  const Tensor up = ops::conv3d_transpose(t[0], t[1], {}, options[2]);
  const Tensor down = ops::conv3d(image, t[1], {}, {.strides = {2, 2, 1}, .padding = "same"});
  ASSERT_EQ(up.shape(), image.shape());
  EXPECT_NEAR(ops::sum(up * image).item(), ops::sum(t[0] * down).item(), 1e-3);
}

TEST(ConvTranspose, KnowsItsShapeWithoutValues) {
  const Tensor k = random_tensor({3, 3, 4, 2}, 1);
  auto shape = [&](const Shape& x, const Options2D& o) {
    return ops::conv2d_transpose(Tensor::abstract(x, DType::float32), k, random_tensor({4}, 1), o).shape();
  };
  EXPECT_EQ(shape({None, 5, 6, 2}, {.strides = {2, 2}, .padding = "same"}), (Shape{None, 10, 12, 4}));
  EXPECT_EQ(shape({None, None, 7, 2}, {}), (Shape{None, None, 9, 4}));
  EXPECT_EQ(shape({None, 5, 6, 2}, {.strides = {5, 2}}), (Shape{None, 25, 13, 4}));
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 1, 4, 3}, 1), k = random_tensor({2, 2, 4, 3}, 1);
  EXPECT_THROW(ops::conv2d_transpose(x, random_tensor({2, 2, 3, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv2d_transpose(x, random_tensor({2, 4, 3}, 1)), ShapeError);
  EXPECT_THROW(ops::conv2d_transpose(x, k, {}, {.output_padding = {{1, 0}}}), InvalidArgumentError);
  EXPECT_THROW(ops::conv2d_transpose(x, k, {}, {.strides = {0, 1}}), InvalidArgumentError);
  constexpr int kLargest = std::numeric_limits<int>::max();
  EXPECT_THROW(ops::conv2d_transpose(x, random_tensor({4, 2, 4, 3}, 1), {},
                                     {.padding = "same", .dilation = {kLargest, 1}}),
               ShapeError);
  EXPECT_THROW(ops::conv2d_transpose(Tensor::abstract({None, int64_t{1} << 40, 4, 3}, DType::float32), k, {},
                                     {.strides = {kLargest, 1}}),
               ShapeError);
  EXPECT_THROW(ops::conv2d_transpose(x, k, {}, {.padding = "causal"}), InvalidArgumentError);
  EXPECT_THROW(
      ops::conv2d_transpose(x, k, {}, {.strides = {2, 2}, .padding = "same", .output_padding = {{0, 0}}}),
      ShapeError);
}

}  // namespace
}  // namespace nyala::testing
