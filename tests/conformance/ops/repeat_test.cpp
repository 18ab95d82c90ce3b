#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor two_by_three() { return tensor_of({0, 1, 2, 3, 4, 5}, {2, 3}); }

// Expected numbers of NumPy.
TEST(Repeat, RepeatsElements) {
  expect_close(ops::repeat(two_by_three(), 2, 0), tensor_of({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}, {4, 3}));
  expect_close(ops::repeat(two_by_three(), 2, -1), tensor_of({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, {2, 6}));
  EXPECT_EQ(ops::repeat(two_by_three(), 0, 1).shape(), (Shape{2, 0}));
  EXPECT_THROW(ops::repeat(two_by_three(), -1, 1), InvalidArgumentError);
  EXPECT_THROW(ops::repeat(two_by_three(), 2, 2), ShapeError);
}

TEST(Tile, RepeatsTheWhole) {
  expect_close(
      ops::tile(two_by_three(), {2, 1, 2}),
      tensor_of({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}, {2, 2, 6}));
  expect_close(ops::tile(two_by_three(), {2}), tensor_of({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}, {2, 6}));
  expect_close(ops::tile(two_by_three(), {1, 1}), two_by_three());
  EXPECT_THROW(ops::tile(two_by_three(), {-1}), InvalidArgumentError);
}

TEST(BroadcastTo, RepeatsAlongNewAndWidenedAxes) {
  expect_close(ops::broadcast_to(tensor_of({1, 2}, {2, 1}), {2, 2, 3}),
               tensor_of({1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}, {2, 2, 3}));
  expect_close(ops::broadcast_to(random_tensor({}, 1), {0}), random_tensor({0}, 1));
  EXPECT_THAT(
      [] {
        ops::broadcast_to(two_by_three(), {2, 4});
      },
      ThrowsMessage<ShapeError>(HasSubstr("input (2, 3) does not broadcast to (2, 4)")));
  EXPECT_THROW(ops::broadcast_to(two_by_three(), {3}), ShapeError);
}

TEST(Repeat, ShapesOfGraphs) {
  const Tensor x = Tensor::abstract({None, 1, 3}, DType::float32);
  EXPECT_EQ(ops::broadcast_to(x, {None, 4, 3}).shape(), (Shape{None, 4, 3}));
  EXPECT_EQ(ops::repeat(x, 2, 2).shape(), (Shape{None, 1, 6}));
  EXPECT_EQ(ops::tile(x, {2, 5, 1}).shape(), (Shape{None, 5, 3}));
}

TEST(Repeat, GradientsAndKernels) {
  const std::vector<OpFunction> functions{
      [](const Tensors& t) { return ops::repeat(t[0], 3, 1); },
      [](const Tensors& t) { return ops::repeat(t[0], 2, 2); },
      [](const Tensors& t) {
        return ops::tile(t[0], {2, 3, 1, 2});
      },
      [](const Tensors& t) { return ops::broadcast_to(t[0], t[0].shape().with(2, 5)); }};
  for (size_t i = 0; i < functions.size(); ++i) {
    const bool needs_one = i == 3;
    expect_gradients(functions[i], {random_tensor({2, 3, needs_one ? 1 : 2}, 1)});
    for (const Shape& shape :
         {Shape{0, 3, 1}, Shape{1, 1, 1}, Shape{3, 5, needs_one ? 1 : 7}, Shape{40, 70, needs_one ? 1 : 33}})
      expect_kernels_agree(functions[i], {random_tensor(shape, 2)}, {1e-5, 1e-5});
  }
}

}  // namespace
}  // namespace nyala::testing
