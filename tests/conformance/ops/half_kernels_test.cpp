// The kernels that take 16-bit floats themselves, in sizes beyond their tiles and rows.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

struct HalfCase {
  std::string name;
  OpFunction f;
  Tensors inputs;
};

Tensor values(const Shape& shape, uint64_t seed = 1) { return random_tensor(shape, seed); }

Tensor activated(const Tensors& t, ops::Activation activation) {
  return ops::activation_backward(t[0], t[1], activation);
}

std::vector<HalfCase> elementwise_cases() {
  const Shape flat{5003};
  return {
      {"relu", [](const Tensors& t) { return ops::relu(t[0]); }, {values(flat)}},
      {"bounded relu",
       [](const Tensors& t) { return ops::relu(t[0], {.negative_slope = 0.5, .max_value = 1}); },
       {values(flat)}},
      {"sigmoid", [](const Tensors& t) { return ops::sigmoid(t[0]); }, {values(flat)}},
      {"gelu", [](const Tensors& t) { return ops::gelu(t[0], true); }, {values(flat)}},
      {"affine", [](const Tensors& t) { return t[0] * 0.3; }, {values(flat)}},
      {"add", [](const Tensors& t) { return t[0] + t[1]; }, {values(flat), values(flat, 2)}},
      {"multiply", [](const Tensors& t) { return t[0] * t[1]; }, {values(flat), values(flat, 2)}},
      {"a scalar on the left", [](const Tensors& t) { return t[0] - t[1]; }, {values({}), values(flat, 2)}},
      {"a scalar on the right",
       [](const Tensors& t) { return t[0] / t[1]; },
       {values(flat), random_tensor({}, 2, 0.5, 2.0)}},
      {"a short row", [](const Tensors& t) { return t[0] + t[1]; }, {values({700, 10}), values({10}, 2)}},
      {"a short row on the left",
       [](const Tensors& t) { return t[0] - t[1]; },
       {values({10}), values({700, 10}, 2)}},
      {"a long row", [](const Tensors& t) { return t[0] * t[1]; }, {values({3, 2500}), values({2500}, 2)}},
      {"a column", [](const Tensors& t) { return t[0] + t[1]; }, {values({4, 1500}), values({4, 1}, 2)}},
      {"relu gradient",
       [](const Tensors& t) { return activated(t, ops::Activation::relu); },
       {values({3, 1700, 2}), values({3, 1700, 2}, 2)}},
      {"tanh gradient",
       [](const Tensors& t) { return activated(t, ops::Activation::tanh); },
       {values(flat), values(flat, 2)}},
      {"dropout",
       [](const Tensors& t) {
         return ops::dropout(t[0], Tensor::full({}, 3, DType::int64), {.rate = 0.4, .key = 5});
       },
       {values({3, 1801})}}};
}

std::vector<HalfCase> row_cases() {
  std::vector<HalfCase> cases;
  for (const int64_t n : {1, 7, 1000, 4096}) {
    const Tensor x = values({11, n}), gamma = values({n}, 2), beta = values({n}, 3);
    const std::string size = " of " + std::to_string(n);
    cases.push_back({"softmax" + size, [](const Tensors& t) { return ops::softmax(t[0]); }, {x}});
    cases.push_back({"log softmax" + size, [](const Tensors& t) { return ops::log_softmax(t[0]); }, {x}});
    if (n > 1)
      cases.push_back({"layer normalization" + size,
                       [gamma, beta](const Tensors& t) {
                         const DType dtype = dtype_of_sums(t[0].dtype());
                         return ops::layer_normalization(t[0], ops::cast(gamma, dtype),
                                                         ops::cast(beta, dtype), {.epsilon = 1e-2});
                       },
                       {x}});
  }
  return cases;
}

std::vector<HalfCase> image_cases() {
  std::vector<HalfCase> cases;
  const Tensor image = values({3, 13, 14, 20});
  const ops::Pooling2DOptions overlapping{.pool_size = {3, 3}, .strides = {2, 2}, .padding = "same"};
  cases.push_back(
      {"max pooling", [=](const Tensors& t) { return ops::max_pooling2d(t[0], overlapping); }, {image}});
  cases.push_back({"average pooling",
                   [=](const Tensors& t) { return ops::average_pooling2d(t[0], overlapping); },
                   {image}});
  cases.push_back({"pooling side by side",
                   [](const Tensors& t) {
                     return ops::max_pooling2d(t[0], {.pool_size = {2, 2}});
                   },
                   {image}});
  cases.push_back({"global mean", [](const Tensors& t) { return ops::mean(t[0], {1, 2}); }, {image}});
  cases.push_back({"sum of all", [](const Tensors& t) { return ops::sum(t[0]); }, {image}});
  cases.push_back(
      {"sums of rows", [](const Tensors& t) { return ops::sum(t[0], {1}); }, {values({5, 3000})}});
  cases.push_back(
      {"sums of short columns", [](const Tensors& t) { return ops::sum(t[0], {0}); }, {values({999, 3})}});
  cases.push_back({"sums of long columns",
                   [](const Tensors& t) { return ops::sum(t[0], {1}); },
                   {values({2, 70, 1500})}});
  return cases;
}

/// The gradients of recurrent kernels and biases are ops of their own, which these cases leave out.
std::vector<HalfCase> sequence_cases() {
  const ops::RecurrentOptions all{.return_sequences = true, .go_backwards = true}, last{};
  std::vector<HalfCase> cases;
  for (const ops::AttentionDescriptor& d :
       {ops::AttentionDescriptor{0.4}, ops::AttentionDescriptor{0.4, true}})
    cases.push_back({d.causal ? "causal attention" : "attention",
                     [d](const Tensors& t) { return ops::dot_product_attention(t[0], t[1], t[2], {}, d); },
                     {values({2, 150, 6, 20}), values({2, 150, 2, 20}, 2), values({2, 150, 2, 17}, 3)}});
  for (const auto& d : {all, last}) {
    cases.push_back({"lstm",
                     [d](const Tensors& t) {
                       return ops::detail::lstm({t[0], t[1].detached(), t[2], t[3], {}}, d).output;
                     },
                     {values({21, 4, 132}), random_tensor({33, 132}, 2, -0.2, 0.2), values({21, 33}, 3),
                      values({21, 33}, 4)}});
    cases.push_back(
        {"gru",
         [d](const Tensors& t) {
           return ops::detail::gru({t[0], t[1].detached(), t[2], t[3].detached(), {}}, d).output;
         },
         {values({21, 4, 99}), random_tensor({33, 99}, 2, -0.2, 0.2), values({21, 33}, 3), values({99}, 4)}});
  }
  return cases;
}

std::string level() { return cpu_level() == CpuLevel::avx512 ? "avx512" : "avx2"; }

/// No float32 copy of a whole tensor is made, nor does a reference loop run. The cast of float64 is that of
/// the gradient that the check begins with.
void expect_fast(const std::string& name, const OpFunction& f, const Tensors& inputs) {
  if (cpu_level() == CpuLevel::baseline) return;
  for (const std::string& ran : kernels_that_run(f, inputs)) {
    EXPECT_NE(ran, "cast: " + level()) << name;
    EXPECT_TRUE(!ran.ends_with(": reference") || ran == "cast: reference" ||
                ran == "merge_moments: reference")
        << name << ", " << ran;
  }
}

void expect_fast(const HalfCase& each) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    Tensors half;
    for (const Tensor& input : each.inputs) half.push_back(ops::cast(input, dtype));
    expect_fast(each.name, each.f, half);
  }
}

TEST(HalfKernels, Elementwise) {
  for (const HalfCase& each : elementwise_cases()) {
    SCOPED_TRACE(each.name);
    expect_half(each.f, each.inputs);
    expect_fast(each);
  }
}

TEST(HalfKernels, Rows) {
  for (const HalfCase& each : row_cases()) {
    SCOPED_TRACE(each.name);
    expect_half(each.f, each.inputs);
    expect_fast(each);
  }
}

TEST(HalfKernels, ImagesAndSums) {
  for (const HalfCase& each : image_cases()) {
    SCOPED_TRACE(each.name);
    expect_half(each.f, each.inputs);
    expect_fast(each);
  }
}

/// The results have the bits of whole float32 copies.
TEST(HalfKernels, Sequences) {
  for (const HalfCase& each : sequence_cases()) {
    SCOPED_TRACE(each.name);
    expect_fast(each);
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      Tensors half, wide;
      for (const Tensor& input : each.inputs) {
        half.push_back(ops::cast(input, dtype));
        wide.push_back(ops::cast(half.back(), DType::float32));
      }
      EXPECT_EQ(values_of(each.f(half)), values_of(ops::cast(each.f(wide), dtype))) << name_of(dtype);
    }
  }
}

/// Rows that are too long for the stack are computed in float32.
TEST(HalfKernels, LongRowsAreTakenAnotherWay) {
  expect_half([](const Tensors& t) { return ops::softmax(t[0]); }, {values({3, 5000})});
  expect_half([](const Tensors& t) { return ops::layer_normalization(t[0], {}, {}, {}); },
              {values({3, 5000})});
}

/// Channels of all kinds of period; parameters and their gradients are float32.
TEST(HalfKernels, BatchNormalization) {
  for (const int64_t channels : {1, 3, 20, 64, 100, 272, 2048})
    for (const auto activation : {ops::Activation::linear, ops::Activation::relu, ops::Activation::relu6})
      for (const DType dtype : {DType::bfloat16, DType::float16}) {
        SCOPED_TRACE(std::to_string(channels) + " " + std::string(name_of(dtype)));
        const int64_t rows = channels == 2048 ? 21 : 403;
        const Tensor x = ops::cast(values({rows, channels}), dtype), gamma = values({channels}, 2),
                     beta = values({channels}, 3);
        const OpFunction f = [activation](const Tensors& t) {
          return ops::detail::batch_normalization_train(t[0], t[1], t[2], {.activation = activation}).y;
        };
        const Outcome actual = run_with_gradients_of(dtype, f, {x, gamma, beta}),
                      expected = run_with_gradients_of(dtype, f, {ops::cast(x, DType::float32), gamma, beta});
        const double rounding = dtype == DType::bfloat16 ? 0x1p-8 : 0x1p-10;
        EXPECT_EQ(actual.value.dtype(), dtype);
        expect_close(ops::cast(actual.value, DType::float32), expected.value, {rounding, 1e-6}, "y");
        expect_close(ops::cast(actual.gradients[0], DType::float32), expected.gradients[0], {rounding, 1e-5},
                     "of x");
        expect_close(actual.gradients[1], expected.gradients[1], {1e-4, 1e-3}, "of gamma");
        expect_close(actual.gradients[2], expected.gradients[2], {1e-4, 1e-3}, "of beta");
        expect_fast("batch normalization", f, {x, gamma, beta});
      }
}

TEST(HalfKernels, BiasGradientsAreFloat32) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor dy = ops::cast(values({3001, 10}), dtype), wide = ops::cast(dy, DType::float32);
    const Tensor sums = dispatch(ops::kBiasGradient, NoDescriptor{}, {&dy});
    EXPECT_EQ(sums.dtype(), DType::float32);
    expect_close(sums, dispatch(ops::kBiasGradient, NoDescriptor{}, {&wide}), {1e-5, 1e-4});
  }
}

TEST(HalfKernels, CastsBetweenThem) {
  const Tensor x = ops::cast(values({5003}), DType::float16);
  const Tensor y = ops::cast(x, DType::bfloat16);
  EXPECT_EQ(values_of(y), values_of(ops::cast(ops::cast(x, DType::float32), DType::bfloat16)));
  if (cpu_level() > CpuLevel::baseline) {
    EXPECT_EQ(kernels_that_run([](const Tensors& t) { return ops::cast(t[0], DType::bfloat16); },
                               {x.detached()})[0],
              "cast: " + level());
  }
}

/// Rows are moved as they are; those of bad indices are NaN.
TEST(HalfKernels, RowsOfATable) {
  const Tensor rows = tensor_of({2, 0, 2}, {3}, DType::int32), bad = tensor_of({1, 7}, {2}, DType::int64);
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor table = ops::cast(values({3, 5}), dtype);
    const OpFunction f = [rows](const Tensors& t) { return ops::take(t[0].detached(), rows, 0); };
    EXPECT_EQ(values_of(f({table})), values_of(ops::take(ops::cast(table, DType::float64), rows, 0)));
    EXPECT_EQ(kernels_that_run(f, {table}), std::vector<std::string>{"take: rows"});
    StatusWords words;
    {
      const StatusScope reports(words);
      const std::vector<double> taken = values_of(ops::take(table, bad, 0));
      EXPECT_FALSE(std::isnan(taken[0]));
      EXPECT_TRUE(std::isnan(taken[5]));
    }
    EXPECT_THROW(words.check(), NumericError);
  }
}

}  // namespace
}  // namespace nyala::testing
