#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::Activation;
using ops::Conv2DOptions;

OpFunction conv_with(const Conv2DOptions& options) {
  return [options](const Tensors& t) {
    return ops::conv2d(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options);
  };
}

struct Case {
  Shape x, kernel;
  Conv2DOptions options;
};

Tensors inputs(const Case& c, bool bias = true) {
  Tensors t{random_tensor(c.x, 1), random_tensor(c.kernel, 2)};
  if (bias) t.push_back(random_tensor({c.kernel[3]}, 3));
  return t;
}

std::vector<Case> small_cases() {
  return {{{2, 5, 6, 3}, {3, 3, 3, 4}, {}},
          {{1, 6, 5, 2}, {3, 2, 2, 3}, {.strides = {2, 2}, .padding = "same"}},
          {{1, 7, 7, 1}, {3, 3, 1, 2}, {.padding = "same", .dilation = {2, 2}}},
          {{2, 4, 4, 4}, {3, 3, 2, 6}, {.padding = "same", .groups = 2}},
          {{1, 4, 5, 3}, {2, 3, 1, 3}, {.strides = {1, 2}, .groups = 3}},
          {{1, 3, 3, 2}, {3, 3, 2, 2}, {.padding = {2, 0, 1, 3}}},
          {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
          {{2, 3, 4, 2}, {1, 1, 2, 3}, {.strides = {2, 3}, .padding = "same"}},
          {{1, 5, 5, 2}, {2, 2, 2, 2}, {.strides = {3, 3}}}};
}

std::vector<Case> larger_cases() {
  return {{{8, 28, 28, 1}, {5, 5, 1, 6}, {.padding = "same"}},
          {{4, 28, 28, 1}, {3, 3, 1, 20}, {}},
          {{4, 14, 14, 6}, {5, 5, 6, 16}, {}},
          {{3, 13, 13, 20}, {5, 5, 20, 50}, {}},
          {{2, 32, 32, 3}, {3, 3, 3, 16}, {.padding = "same"}},
          {{2, 16, 16, 16}, {3, 3, 16, 32}, {.strides = {2, 2}, .padding = "same"}},
          {{2, 16, 16, 16}, {1, 1, 16, 32}, {.strides = {2, 2}}},
          {{2, 9, 9, 32}, {3, 3, 32, 32}, {.padding = "same"}},
          {{2, 9, 9, 32}, {3, 3, 1, 32}, {.padding = "same", .groups = 32}},
          {{2, 9, 11, 20}, {3, 3, 1, 20}, {.strides = {2, 2}, .padding = "same", .groups = 20}},
          {{1, 7, 14, 40}, {5, 5, 1, 40}, {.padding = "same", .dilation = {1, 2}, .groups = 40}},
          {{3, 8, 17, 16}, {3, 2, 1, 16}, {.strides = {1, 3}, .padding = {2, 0, 1, 3}, .groups = 16}},
          {{2, 12, 12, 5}, {1, 7, 1, 5}, {.strides = {3, 1}, .groups = 5}},
          {{2, 9, 10, 24}, {3, 3, 1, 24}, {.dilation = {2, 3}, .groups = 24}},
          {{2, 11, 9, 33},
           {2, 2, 1, 33},
           {.strides = {2, 3}, .padding = "same", .dilation = {3, 2}, .groups = 33}},
          {{1, 3, 2, 8}, {4, 5, 1, 8}, {.strides = {2, 2}, .padding = "same", .groups = 8}},
          {{2, 6, 9, 8}, {3, 3, 1, 16}, {.padding = "same", .groups = 8}},
          {{2, 15, 15, 3}, {7, 7, 3, 8}, {.strides = {2, 2}, .padding = {3, 3, 3, 3}}},
          {{0, 8, 8, 3}, {3, 3, 3, 4}, {}}};
}

/// Straight from the definition: y[n, i, j, o] = sum over taps of the image put into a frame of zeros.
Tensor direct(const Tensors& t, const Conv2DOptions& options) {
  const Shape y_shape = ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, options).shape();
  const ops::Conv2DDescriptor d{{options.strides[0], options.strides[1]},
                                {options.dilation[0], options.dilation[1]},
                                options.groups,
                                options.padding,
                                options.activation};
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(d, t[0].shape(), t[1].shape());
  const std::vector<double> x = values_of(t[0]), k = values_of(t[1]);
  auto pixel = [&](int64_t n, int64_t i, int64_t j, int64_t c) {
    if (i < 0 || j < 0 || i >= g.height || j >= g.width) return 0.0;
    return x[static_cast<size_t>(((n * g.height + i) * g.width + j) * g.channels + c)];
  };
  std::vector<double> y;
  for (int64_t at = 0; at < y_shape.num_elements(); ++at) {
    const int64_t o = at % y_shape[3], j = at / y_shape[3] % y_shape[2],
                  i = at / y_shape[3] / y_shape[2] % y_shape[1],
                  n = at / y_shape[3] / y_shape[2] / y_shape[1];
    double sum = t.size() > 2 ? values_of(t[2])[static_cast<size_t>(o)] : 0.0;
    for (int64_t a = 0; a < g.kernel_height; ++a)
      for (int64_t b = 0; b < g.kernel_width; ++b)
        for (int64_t c = 0; c < g.in_per_group; ++c)
          sum += pixel(n, i * options.strides[0] - g.pad_top + a * options.dilation[0],
                       j * options.strides[1] - g.pad_left + b * options.dilation[1],
                       o / g.out_per_group * g.in_per_group + c) *
                 k[static_cast<size_t>(((a * g.kernel_width + b) * g.in_per_group + c) * g.out_channels + o)];
    y.push_back(sum);
  }
  return tensor_of(y, y_shape);
}

TEST(Conv2D, EqualsTheDefinition) {
  for (const Case& c : small_cases())
    expect_close(conv_with(c.options)(inputs(c)), direct(inputs(c), c.options), {1e-5, 1e-5},
                 c.kernel.to_string());
}

Tensor counted(const Shape& shape, int64_t period, double offset) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<double>(i % period) + offset);
  return tensor_of(values, shape);
}

TEST(Conv2D, EqualsKeras) {
  expect_close(ops::conv2d(counted({1, 4, 4, 1}, 7, -3), counted({3, 3, 1, 1}, 4, -1.5), {},
                           {.strides = {2, 2}, .padding = "same"}),
               tensor_of({-0.5, 12.0, 3.5, -2.0}, {1, 2, 2, 1}));
  const Tensor y = ops::conv2d(counted({1, 5, 4, 2}, 7, -3), counted({2, 3, 1, 4}, 5, -2), {},
                               {.padding = "same", .dilation = {2, 1}, .groups = 2});
  expect_close(y.rows(0, 1).with_shape({20, 4}).rows(0, 3),
               tensor_of({2, 0, -1, -1, -4, -4, -1, 7, 4, 3, 5, 2}, {3, 4}));
  expect_close(y.with_shape({20, 4}).rows(17, 3),
               tensor_of({1, -10, 1, 3, -11, 2, 2, 3, 4, 5, 0, -2}, {3, 4}));
}

TEST(Conv2D, GradientsAreThoseOfDifferences) {
  for (Case c : small_cases()) {
    expect_gradients(conv_with(c.options), inputs(c));
    c.options.activation = Activation::tanh;
    expect_gradients(conv_with(c.options), inputs(c, false));
  }
}

/// Slopes come from a result that was rounded: of tanh and sigmoid close to 1, of relu6 close to 6, 16 bits
/// tell nothing.
Tolerance tolerance_with(Activation a) {
  const bool saturates = a != Activation::linear && a != Activation::relu;
  return {.relative = 1e-4, .absolute = 5e-4, .half = !saturates};
}

TEST(Conv2D, KernelsAgree) {
  std::vector<Case> cases = small_cases();
  for (const Case& c : larger_cases()) cases.push_back(c);
  for (Case c : cases)
    for (const Activation a :
         {Activation::linear, Activation::relu, Activation::sigmoid, Activation::tanh, Activation::relu6}) {
      c.options.activation = a;
      expect_kernels_agree(conv_with(c.options), inputs(c), tolerance_with(a));
      if (a == Activation::linear) expect_kernels_agree(conv_with(c.options), inputs(c, false), {1e-4, 5e-4});
    }
}

/// Filters that share vectors with their neighbours' pixels, kernels of all heights.
TEST(Conv2D, KernelsAgreeOnFewFiltersOfOneChannel) {
  for (const int64_t filters : {1, 2, 3, 4, 5, 6, 8, 12, 20})
    for (int64_t height = 1; height <= 6; ++height)
      for (const std::string padding : {"valid", "same"}) {
        const Case c{{3, 9, 11, 1}, {height, 1 + height % 4, 1, filters}, {.padding = padding}};
        SCOPED_TRACE(c.kernel.to_string() + " " + padding);
        expect_kernels_agree(conv_with(c.options), inputs(c), {1e-4, 1e-5});
      }
}

TEST(Conv2D, OntoASum) {
  std::vector<Case> cases = small_cases();
  for (const Case& c : larger_cases()) cases.push_back(c);
  for (Case c : cases)
    for (const Activation a : {Activation::linear, Activation::relu, Activation::relu6}) {
      c.options.activation = a;
      for (const bool bias : {true, false}) {
        Tensors t = inputs(c, bias);
        if (!bias) t.emplace_back();
        const Tensor plain = ops::conv2d(
            t[0], t[1], t[2], {c.options.strides, c.options.padding, c.options.dilation, c.options.groups});
        const Tensor sum = random_tensor(plain.shape(), 12, -4.0, 4.0);
        const Tensor z = plain + sum;
        const Tensor expected = a == Activation::linear ? z
                                : a == Activation::relu ? ops::relu(z)
                                                        : ops::relu6(z);
        const Tensor given = sum.clone();
        ops::detail::conv2d_onto(given, std::array{&t[0], &t[1], &t[2]}, c.options);
        expect_close(given, expected, {1e-4, 5e-4}, c.kernel.to_string());
        if (!bias) t.pop_back();
        t.push_back(sum);
        expect_kernels_agree(
            [&](const Tensors& in) {
              const Tensor y = in.back().detached().clone(), none;
              const Tensor &x = in[0], &kernel = in[1];
              const Tensor& offset = bias ? in[2] : none;
              ops::detail::conv2d_onto(y, std::array{&x, &kernel, &offset}, c.options);
              return y;
            },
            t, {1e-4, 5e-4});
      }
    }
}

TEST(Conv2D, OntoASumOfAnotherShape) {
  const Tensor x = random_tensor({1, 4, 4, 2}, 1), kernel = random_tensor({3, 3, 2, 5}, 2), none;
  EXPECT_THROW(ops::detail::conv2d_onto(Tensor::zeros({1, 4, 4, 5}), std::array{&x, &kernel, &none}),
               ShapeError);
}

TEST(Conv2D, GradientOpsAgreeKernelByKernel) {
  std::vector<Case> cases = small_cases();
  for (const Case& c : larger_cases()) cases.push_back(c);
  for (const Case& c : cases) {
    const ops::Conv2DDescriptor d{{c.options.strides[0], c.options.strides[1]},
                                  {c.options.dilation[0], c.options.dilation[1]},
                                  c.options.groups,
                                  c.options.padding,
                                  Activation::relu};
    const Tensors t = inputs(c);
    const Tensor dz =
        random_tensor(ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, c.options).shape(), 5);
    const ops::Conv2DBackwardDescriptor input{d, {c.x[1], c.x[2]}}, kernel{d, {c.kernel[0], c.kernel[1]}};
    auto run = [](const OpDef& op, const Descriptor& descriptor) {
      return [&op, descriptor](const Tensors& in) { return dispatch(op, descriptor, {&in[0], &in[1]}); };
    };
    expect_kernels_agree(
        [d](const Tensors& in) {
          return dispatch(ops::kConv2D, d, {&in[0], &in[1], &in[2]}).detached();
        },
        t, {1e-4, 2e-4});
    expect_kernels_agree(run(ops::kConv2DBackwardInput, input), {dz, t[1]}, {1e-4, 5e-4});
    expect_kernels_agree(run(ops::kConv2DBackwardKernel, kernel), {t[0], dz}, {1e-4, 2e-3});
  }
}

TEST(Conv2D, SeesChangedWeights) {
  const Case c{{2, 8, 8, 16}, {3, 3, 16, 16}, {}};
  const Tensors t = inputs(c);
  conv_with(c.options)(t);
  const Tensor other = random_tensor(c.kernel, 9);
  t[1].copy_from(other);
  expect_close(conv_with(c.options)(t), conv_with(c.options)({t[0], other.clone(), t[2]}));
}

TEST(Conv2D, KnowsItsShapeWithoutValues) {
  const Tensor k = random_tensor({3, 3, 3, 8}, 1);
  auto shape = [&](const Shape& x, const Conv2DOptions& o) {
    return ops::conv2d(Tensor::abstract(x, DType::float32), k, {}, o).shape();
  };
  EXPECT_EQ(shape({None, 32, 32, 3}, {}), (Shape{None, 30, 30, 8}));
  EXPECT_EQ(shape({None, None, 7, 3}, {.strides = {2, 2}, .padding = "same"}), (Shape{None, None, 4, 8}));
}

TEST(Conv2D, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 4, 4, 3}, 1);
  EXPECT_THROW(ops::conv2d(x, random_tensor({3, 3, 2, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv2d(x, random_tensor({5, 5, 3, 4}, 1)), ShapeError);
  EXPECT_THROW(ops::conv2d(x, random_tensor({3, 3, 1, 4}, 1), {}, {.groups = 3}), ShapeError);
  EXPECT_THROW(ops::conv2d(x, random_tensor({3, 3, 3, 4}, 1), random_tensor({3}, 1)), ShapeError);
  EXPECT_THROW(ops::conv2d(x, random_tensor({3, 3, 3, 4}, 1), {}, {.strides = {0, 1}}), InvalidArgumentError);
  EXPECT_THROW(ops::Padding2D("sam"), InvalidArgumentError);
  try {
    ops::conv2d(x, random_tensor({5, 5, 3, 4}, 1));
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("zero or negative"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace nyala::testing
