#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/nn/dot_product_attention.h>
#include <nyala/backend/ops/nn/einsum.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Sizes {
  int64_t batch = 2, time = 3, steps = 4, heads = 2, key_heads = 2, size = 5, value_size = 3;
};

Tensors inputs_of(const Sizes& s) {
  return {random_tensor({s.batch, s.time, s.heads, s.size}, 1),
          random_tensor({s.batch, s.steps, s.key_heads, s.size}, 2),
          random_tensor({s.batch, s.steps, s.key_heads, s.value_size}, 3)};
}

Tensor mask_of_shape(const Shape& shape) {
  return ops::greater(random_tensor(shape, 9), Tensor::full({}, -0.7));
}

OpFunction attention(const Tensor& mask, const ops::AttentionDescriptor& d) {
  return [=](const Tensors& x) {
    return ops::dot_product_attention(x[0], x[1], x[2], mask.defined() ? mask.to(x[0].device()) : mask, d);
  };
}

/// The same of ops that have a test of their own.
Tensor composed(const Tensors& x, const Tensor& mask, const ops::AttentionDescriptor& d) {
  const int group = static_cast<int>(x[0].shape()[2] / x[1].shape()[2]);
  const Tensor key = ops::repeat(x[1], group, 2), value = ops::repeat(x[2], group, 2);
  Tensor scores = ops::einsum("btnh,bsnh->bnts", {x[0], key}) * d.scale;
  const Tensor hidden = Tensor::full({}, ops::kHiddenScore, scores.dtype());
  if (mask.defined()) scores = ops::where(mask, scores, hidden);
  if (d.causal) {
    const int64_t time = scores.shape()[2], steps = scores.shape()[3];
    const Tensor rows = ops::arange(static_cast<double>(time)).with_shape({time, 1}),
                 columns = ops::arange(static_cast<double>(steps)).with_shape({1, steps});
    scores = ops::where(ops::greater_equal(rows, columns), scores, hidden);
  }
  return ops::einsum("bnts,bsnh->btnh", {ops::softmax(scores, -1), value});
}

struct Case {
  std::string name;
  Sizes sizes;
  Shape mask = {};
  ops::AttentionDescriptor descriptor = {.scale = 0.4};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"plain", {}},
      {"causal", {.time = 5, .steps = 5}, {}, {.scale = 0.4, .causal = true}},
      {"causal with fewer keys", {.time = 6, .steps = 4}, {}, {.scale = 0.4, .causal = true}},
      {"mask for all", {}, {2, 2, 3, 4}},
      {"mask of keys", {}, {2, 1, 1, 4}},
      {"mask of queries", {}, {2, 1, 3, 1}},
      {"one mask", {}, {1, 1, 3, 4}},
      {"mask and causal", {.time = 4, .steps = 4}, {2, 1, 1, 4}, {.scale = 1.0, .causal = true}},
      {"groups", {.heads = 6, .key_heads = 2}, {2, 1, 3, 4}},
      {"one key head", {.heads = 3, .key_heads = 1}},
      {"several blocks",
       {.batch = 1, .time = 300, .steps = 140, .heads = 2, .key_heads = 1, .size = 3},
       {1, 2, 300, 140}},
      {"one of each",
       {.batch = 1, .time = 1, .steps = 1, .heads = 1, .key_heads = 1, .size = 1, .value_size = 1}},
  };
  return all;
}

Tensor mask_of_case(const Case& c) { return c.mask.rank() > 0 ? mask_of_shape(c.mask) : Tensor(); }

TEST(DotProductAttention, EqualsItsFormula) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensors x = inputs_of(c.sizes);
    expect_close(attention(mask_of_case(c), c.descriptor)(x), composed(x, mask_of_case(c), c.descriptor),
                 {1e-4, 1e-5});
  }
}

TEST(DotProductAttention, Gradients) {
  for (const Case& c : cases()) {
    if (c.sizes.time > 100) continue;
    SCOPED_TRACE(c.name);
    expect_gradients(attention(mask_of_case(c), c.descriptor), inputs_of(c.sizes));
  }
}

TEST(DotProductAttention, KernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_kernels_agree(attention(mask_of_case(c), c.descriptor), inputs_of(c.sizes), {2e-4, 2e-5});
  }
}

TEST(DotProductAttention, AQueryThatSeesNothingTakesTheMean) {
  const Tensors x = inputs_of({});
  const Tensor nothing = ops::cast(Tensor::zeros({1, 1, 1, 1}), DType::bool_);
  const Tensor y = attention(nothing, {})(x);
  const std::vector<double> values = values_of(x[2]);
  double mean = 0;
  for (int64_t s = 0; s < 4; ++s) mean += values[static_cast<size_t>(s * 2 * 3)] / 4;
  EXPECT_NEAR(values_of(y)[0], mean, 1e-6);
}

TEST(DotProductAttention, NoRowsAndNoKeys) {
  EXPECT_EQ(attention({}, {})(inputs_of({.batch = 0})).shape(), (Shape{0, 3, 2, 3}));
  expect_close(attention({}, {})(inputs_of({.batch = 1, .time = 1, .steps = 0, .heads = 1, .key_heads = 1})),
               tensor_of({0, 0, 0}, {1, 1, 1, 3}));
}

TEST(DotProductAttention, RefusesWhatDoesNotFit) {
  const Tensors x = inputs_of({});
  const auto message = [](const Tensors& t, const Tensor& mask, const std::string& part) {
    EXPECT_THAT([&] { attention(mask, {})(t); }, ThrowsMessage<ShapeError>(HasSubstr(part)));
  };
  message({x[0], random_tensor({2, 4, 2, 4}, 1), x[2]}, {}, "(2, 4, 2, 4)");
  message({x[0], x[1], random_tensor({2, 5, 2, 3}, 1)}, {}, "same batch, steps and key heads");
  message({random_tensor({2, 3, 5}, 1), x[1], x[2]}, {}, "4 axes");
  message({random_tensor({2, 3, 3, 5}, 1), x[1], x[2]}, {}, "divides the 3 heads");
  message(x, random_tensor({2, 2, 3, 4}, 1), "bool mask");
  EXPECT_THROW(attention(mask_of_shape({2, 2, 3, 5}), {})(x), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
