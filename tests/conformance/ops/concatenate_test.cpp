#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor two_by_three(double offset = 0) {
  return tensor_of({offset, offset + 1, offset + 2, offset + 3, offset + 4, offset + 5}, {2, 3});
}

TEST(Concatenate, JoinsAlongAnAxis) {
  const Tensor a = two_by_three(), b = tensor_of({7, 8}, {2, 1});
  expect_close(ops::concatenate({a, b}), tensor_of({0, 1, 2, 7, 3, 4, 5, 8}, {2, 4}));
  expect_close(ops::concatenate({a, two_by_three(6)}, 0),
               tensor_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {4, 3}));
  expect_close(ops::concatenate({a}, 1), a);
  expect_close(ops::concatenate({random_tensor({2, 0}, 1), a, random_tensor({2, 0}, 1)}, 1), a);
  expect_close(ops::concatenate({tensor_of({1}, {1}, DType::int32), tensor_of({2.5}, {1})}),
               tensor_of({1, 2.5}, {2}));
}

// Expected numbers of NumPy.
TEST(Stack, AddsAnAxis) {
  expect_close(ops::stack({two_by_three(), two_by_three(10)}, 1),
               tensor_of({0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15}, {2, 2, 3}));
  EXPECT_EQ(ops::stack({two_by_three(), two_by_three()}, -1).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(ops::stack({random_tensor({}, 1), random_tensor({}, 2), random_tensor({}, 3)}).shape(), Shape{3});
}

TEST(Concatenate, ShapesOfGraphs) {
  const Tensor x = Tensor::abstract({None, 3}, DType::float32), y = Tensor::abstract({4, 5}, DType::float32);
  EXPECT_EQ(ops::concatenate({x, y}).shape(), (Shape{4, 8}));
  EXPECT_EQ(ops::concatenate({x, x}, 0).shape(), (Shape{None, 3}));
  EXPECT_EQ(ops::stack({x, x, x}, 1).shape(), (Shape{None, 3, 3}));
}

TEST(Concatenate, NamesWhatDoesNotFit) {
  EXPECT_THROW(ops::concatenate({}), InvalidArgumentError);
  EXPECT_THROW(ops::stack({}), InvalidArgumentError);
  EXPECT_THAT(
      [] {
        ops::concatenate({two_by_three(), random_tensor({3, 1}, 1)}, 1);
      },
      ThrowsMessage<ShapeError>(HasSubstr("equal but for axis 1, received (2, 3) and (3, 1)")));
  EXPECT_THROW(ops::concatenate({two_by_three(), random_tensor({2}, 1)}, 1), ShapeError);
  EXPECT_THROW(ops::concatenate({two_by_three()}, 2), ShapeError);
  EXPECT_THAT(
      [] {
        ops::stack({two_by_three(), random_tensor({3, 2}, 1)});
      },
      ThrowsMessage<ShapeError>(HasSubstr("tensors of one shape, received (2, 3) and (3, 2)")));
}

TEST(Concatenate, GradientsAndKernels) {
  for (const int axis : {0, 1, 2}) {
    const OpFunction f = [=](const Tensors& t) { return ops::concatenate({t[0], t[1], t[0]}, axis); };
    const auto inputs = [=](const Shape& shape, int64_t other) {
      return Tensors{random_tensor(shape, 1), random_tensor(shape.with(axis, other), 2)};
    };
    expect_gradients(f, inputs({2, 3, 2}, 1));
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{20, 33, 65}}) {
      expect_kernels_agree(f, inputs(shape, 4));
      expect_kernels_agree(f, inputs(shape, 0));
    }
    const OpFunction g = [=](const Tensors& t) { return ops::stack({t[0], t[0] * t[0]}, axis); };
    expect_gradients(g, {random_tensor({2, 3}, 1)});
    expect_kernels_agree(g, {random_tensor({65, 33}, 1)});
  }
}

}  // namespace
}  // namespace nyala::testing
