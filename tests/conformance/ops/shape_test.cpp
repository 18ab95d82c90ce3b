#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor symbolic(const Shape& shape) { return Tensor::abstract(shape, DType::float32); }

TEST(Reshape, SharesTheBytes) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  for (const Shape& shape : {Shape{24}, Shape{-1, 6}, Shape{4, -1}, Shape{2, -1, 2, 2}, Shape{24, 1, 1}}) {
    const Tensor y = ops::reshape(x, shape);
    EXPECT_EQ(y.raw(), x.raw());
    EXPECT_EQ(values_of(y), values_of(x));
  }
  EXPECT_EQ(ops::reshape(x, {-1, 6}).shape(), (Shape{4, 6}));
  EXPECT_EQ(ops::reshape(random_tensor({1}, 1), {}).shape(), Shape{});
  EXPECT_EQ(ops::reshape(random_tensor({0, 3, 5}, 1), {-1, 15}).shape(), (Shape{0, 15}));
}

TEST(Reshape, RefusesOtherNumbersOfElements) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_THAT(
      [&] {
        ops::reshape(x, {4, 2});
      },
      ThrowsMessage<ShapeError>(HasSubstr("input (2, 3), received (4, 2)")));
  EXPECT_THAT([&] { ops::reshape(x, {4, -1}); }, ThrowsMessage<ShapeError>(HasSubstr("reshape: expected")));
  EXPECT_THAT(
      [&] {
        ops::reshape(x, {-1, -1});
      },
      ThrowsMessage<ShapeError>(HasSubstr("at most one size of -1")));
  EXPECT_THROW(ops::reshape(random_tensor({0, 3}, 1), {-1, 0}), ShapeError);
  EXPECT_THROW(ops::reshape(Tensor(), {1}), StateError);
}

TEST(Reshape, UnknownSizesStayUnknown) {
  EXPECT_EQ(ops::reshape(symbolic({None, 4, 4}), {-1, 16}).shape(), (Shape{None, 16}));
  EXPECT_EQ(ops::reshape(symbolic({2, 6}), {-1, 4}).shape(), (Shape{3, 4}));
  EXPECT_EQ(ops::flatten(symbolic({None, 7, 7, 3})).shape(), (Shape{None, 147}));
  EXPECT_EQ(ops::flatten(symbolic({None, None, 3})).shape(), (Shape{None, None}));
  EXPECT_EQ(ops::expand_dims(symbolic({None, 3}), 1).shape(), (Shape{None, 1, 3}));
  EXPECT_EQ(ops::squeeze(symbolic({None, 1, 3, 1})).shape(), (Shape{None, 3}));
}

TEST(Flatten, KeepsTheAxesInFront) {
  EXPECT_EQ(ops::flatten(random_tensor({2, 3, 4}, 1)).shape(), (Shape{2, 12}));
  EXPECT_EQ(ops::flatten(random_tensor({5}, 1)).shape(), (Shape{5, 1}));
  EXPECT_EQ(ops::flatten(random_tensor({0, 3, 4}, 1)).shape(), (Shape{0, 12}));
  EXPECT_EQ(ops::flatten(random_tensor({2, 3, 4}, 1), -2).shape(), (Shape{2, 12}));
  EXPECT_EQ(ops::ravel(random_tensor({2, 3, 4}, 1)).shape(), Shape{24});
  EXPECT_EQ(ops::ravel(random_tensor({}, 1)).shape(), Shape{1});
  EXPECT_THROW(ops::flatten(random_tensor({}, 1)), ShapeError);
}

TEST(ExpandDims, CountsPositionsOfTheResult) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_EQ(ops::expand_dims(x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(ops::expand_dims(x, 2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(ops::expand_dims(x, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(ops::expand_dims(x, -3).shape(), (Shape{1, 2, 3}));
  EXPECT_THAT([&] { ops::expand_dims(x, 3); }, ThrowsMessage<ShapeError>(HasSubstr("from -3 to 2")));
}

TEST(Squeeze, DropsAxesOfSizeOne) {
  const Tensor x = random_tensor({1, 2, 1, 3}, 1);
  EXPECT_EQ(ops::squeeze(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(ops::squeeze(x, {-2}).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(ops::squeeze(random_tensor({2, 3}, 1)).shape(), (Shape{2, 3}));
  EXPECT_THAT([&] { ops::squeeze(x, {1}); }, ThrowsMessage<ShapeError>(HasSubstr("size 1 on axis 1")));
}

TEST(Reshape, GradientsAndDevices) {
  const OpFunction f = [](const Tensors& t) {
    const Tensor y = ops::squeeze(ops::expand_dims(ops::reshape(t[0], {-1, 2}), 1));
    return ops::flatten(y * y, 0) * ops::ravel(t[0]);
  };
  expect_gradients(f, {random_tensor({3, 4}, 1)});
  expect_kernels_agree(f, {random_tensor({3, 4}, 1)}, {.half_values = 2});
  expect_kernels_agree(f, {random_tensor({1, 6, 1}, 1)}, {.half_values = 2});
}

TEST(Reshape, SharesBytesWhereItIsDispatched) {
  const Tensor x = random_tensor({2, 6}, 1);
  const Tensor y = dispatch(ops::kReshape, ops::ReshapeDescriptor{{3, -1}}, {&x});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(y.raw(), x.raw());
  EXPECT_EQ(values_of(y), values_of(x));
}

TEST(Reshape, CopiesIntoAGivenOutput) {
  const Tensor x = random_tensor({2, 6}, 1);
  const Tensor y = Tensor::zeros({3, 4}, x.dtype());
  dispatch_into(ops::kReshape, ops::ReshapeDescriptor{{3, -1}}, {&x}, y);
  EXPECT_NE(y.raw(), x.raw());
  EXPECT_EQ(values_of(y), values_of(x));
}

}  // namespace
}  // namespace nyala::testing
