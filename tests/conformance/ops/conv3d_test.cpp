#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::Activation;
using ops::Conv3DOptions;
using ops::Padding;

struct Case {
  Shape x, kernel;
  Conv3DOptions options;
};

OpFunction conv_with(const Conv3DOptions& options) {
  return [options](const Tensors& t) {
    return ops::conv3d(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options);
  };
}

Tensors inputs(const Case& c) {
  return {random_tensor(c.x, 1), random_tensor(c.kernel, 2), random_tensor({c.kernel[4]}, 3)};
}

std::vector<Case> small_cases() {
  return {{{2, 3, 4, 3, 2}, {2, 2, 3, 2, 3}, {}},
          {{1, 4, 3, 5, 1}, {3, 2, 2, 1, 2}, {.strides = {2, 1, 2}, .padding = "same"}},
          {{1, 5, 5, 5, 1}, {2, 3, 2, 1, 1}, {.padding = "same", .dilation = {2, 1, 2}}},
          {{1, 3, 3, 3, 4}, {2, 2, 2, 2, 4}, {.padding = "same", .groups = 2}},
          {{1, 2, 3, 2, 2}, {2, 1, 1, 2, 1}, {.padding = Padding(std::array<int32_t, 6>{1, 2, 0, 1, 2, 0})}},
          {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {}},
          {{1, 1, 4, 4, 2}, {1, 3, 3, 2, 2}, {}},
          {{1, 5, 2, 2, 1}, {2, 2, 2, 1, 1}, {.strides = {3, 1, 1}}}};
}

std::vector<Case> larger_cases() {
  return {{{2, 6, 10, 9, 3}, {3, 3, 3, 3, 16}, {.padding = "same"}},
          {{1, 5, 8, 8, 16}, {3, 3, 3, 16, 8}, {.strides = {1, 2, 2}, .padding = "same"}},
          {{1, 4, 6, 6, 8}, {1, 1, 1, 8, 16}, {.strides = {2, 2, 2}}},
          {{0, 4, 4, 4, 3}, {2, 2, 2, 3, 4}, {}}};
}

/// One element of y, straight from the definition.
double element(const Case& c, const Tensors& t, const Shape& y, int64_t at) {
  const std::vector<double> x = values_of(t[0]), k = values_of(t[1]);
  const int64_t channels = c.x[4], in = c.kernel[3], filters = c.kernel[4];
  std::array<int64_t, 5> index{};
  for (int axis = 4; axis >= 0; at /= y[axis--]) index[static_cast<size_t>(axis)] = at % y[axis];
  const int64_t o = index[4], first = o / (filters / c.options.groups) * in;
  double sum = values_of(t[2])[static_cast<size_t>(o)];
  for (int64_t tap = 0; tap < c.kernel[0] * c.kernel[1] * c.kernel[2]; ++tap) {
    const std::array<int64_t, 3> k_at{tap / c.kernel[2] / c.kernel[1], tap / c.kernel[2] % c.kernel[1],
                                      tap % c.kernel[2]};
    int64_t pixel = index[0];
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      const size_t a = static_cast<size_t>(axis);
      const int64_t stride = c.options.strides[a], dilation = c.options.dilation[a], size = c.x[axis + 1];
      const int64_t span = (c.kernel[axis] - 1) * dilation + 1;
      const int64_t i =
          index[a + 1] * stride + k_at[a] * dilation - c.options.padding.before(axis, size, span, stride);
      inside = inside && i >= 0 && i < size;
      pixel = pixel * size + i;
    }
    for (int64_t channel = 0; inside && channel < in; ++channel)
      sum += x[static_cast<size_t>(pixel * channels + first + channel)] *
             k[static_cast<size_t>((tap * in + channel) * filters + o)];
  }
  return sum;
}

TEST(Conv3D, EqualsTheDefinition) {
  for (const Case& c : small_cases()) {
    const Tensors t = inputs(c);
    const Tensor y = conv_with(c.options)(t);
    std::vector<double> expected;
    for (int64_t at = 0; at < y.num_elements(); ++at) expected.push_back(element(c, t, y.shape(), at));
    expect_close(y, tensor_of(expected, y.shape()), {1e-5, 1e-5}, c.kernel.to_string());
  }
}

TEST(Conv3D, OfOneSliceIsConv2D) {
  const Tensor x = random_tensor({2, 1, 6, 7, 3}, 1), k = random_tensor({1, 3, 2, 3, 4}, 2);
  const Tensor y = ops::conv3d(x, k, {}, {.strides = {1, 2, 1}, .padding = "same"});
  const Tensor flat =
      ops::conv2d(ops::squeeze(x, {1}), ops::squeeze(k, {0}), {}, {.strides = {2, 1}, .padding = "same"});
  expect_close(ops::squeeze(y, {1}), flat, {1e-5, 1e-5});
}

TEST(Conv3D, GradientsAreThoseOfDifferences) {
  for (Case c : small_cases()) {
    expect_gradients(conv_with(c.options), inputs(c));
    c.options.activation = Activation::tanh;
    expect_gradients(conv_with(c.options), inputs(c));
  }
}

TEST(Conv3D, KernelsAgree) {
  std::vector<Case> cases = small_cases();
  for (const Case& c : larger_cases()) cases.push_back(c);
  for (Case c : cases)
    for (const Activation a : {Activation::linear, Activation::relu, Activation::sigmoid}) {
      c.options.activation = a;
      expect_kernels_agree(conv_with(c.options), inputs(c), {1e-4, 5e-4});
    }
}

TEST(Conv3D, KnowsItsShapeWithoutValues) {
  const Tensor k = random_tensor({3, 3, 3, 2, 8}, 1);
  auto shape = [&](const Shape& x, const Conv3DOptions& o) {
    return ops::conv3d(Tensor::abstract(x, DType::float32), k, {}, o).shape();
  };
  EXPECT_EQ(shape({None, 5, 6, 7, 2}, {}), (Shape{None, 3, 4, 5, 8}));
  EXPECT_EQ(shape({None, None, 7, 4, 2}, {.strides = {2, 2, 2}, .padding = "same"}),
            (Shape{None, None, 4, 2, 8}));
}

TEST(Conv3D, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 4, 4, 4, 3}, 1);
  EXPECT_THROW(ops::conv3d(x, random_tensor({2, 2, 2, 2, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv3d(x, random_tensor({5, 2, 2, 3, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv3d(x, random_tensor({2, 2, 3, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv3d(x, random_tensor({2, 2, 2, 3, 4}, 1), {}, {.strides = {1, 0, 1}}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::testing
