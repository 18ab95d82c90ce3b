// Sizes whose product, or whose bytes, no number holds are errors before anything is made of them.
#include <climits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala {
namespace {

constexpr int64_t kHalf = int64_t{1} << 31;

TEST(HugeShapes, AreErrorsWhereTheirBytesCannotBeCounted) {
  for (const Shape& shape : {Shape{int64_t{1} << 62}, Shape{kHalf, kHalf}, Shape{(int64_t{1} << 62) + 1},
                             Shape{kHalf, kHalf, kHalf}}) {
    EXPECT_THROW(Tensor::ones(shape), ShapeError);
    EXPECT_THROW(Tensor::zeros(shape, DType::float64), ShapeError);
    EXPECT_THROW(Tensor::empty(shape, DType::uint8), ShapeError);
  }
  EXPECT_THROW(ops::broadcast_to(Tensor::ones({1}), {int64_t{1} << 62}), ShapeError);
}

TEST(HugeShapes, OfWhichTheBytesCanBeCountedAreOutOfMemory) {
  EXPECT_THROW(Tensor::ones({int64_t{1} << 57}), OutOfMemoryError);
  EXPECT_THROW(Tensor::ones({int64_t{1} << 57}, DType::float64), OutOfMemoryError);
}

TEST(HugeShapes, NothingIsOneSizeThatIsZero) { EXPECT_EQ(Tensor::ones({0, kHalf}).num_elements(), 0); }

TEST(HugeShapes, AreNotMadeOfSizesThatWrapAround) {
  const int64_t half = int64_t{1} << 62;
  const Tensor none = Tensor::zeros({0, half});
  EXPECT_THROW(ops::concatenate({none, none}, 1), ShapeError);
  EXPECT_THROW(ops::tile(none, {2, INT_MAX}), ShapeError);
  EXPECT_THROW(ops::repeat(none, INT_MAX, 1), ShapeError);
  EXPECT_THROW(ops::tile(Tensor::ones({2}), {INT_MAX, INT_MAX, INT_MAX}), ShapeError);
  EXPECT_EQ(ops::tile(Tensor::ones({2, 1}), {3, 2}).shape(), (Shape{6, 2}));
}

TEST(HugeShapes, RangesAreNeverCutShort) {
  EXPECT_THROW(ops::arange(9.2e18), InvalidArgumentError);
  EXPECT_THROW(ops::arange(0, 1, {.step = 1e-30}), InvalidArgumentError);
  EXPECT_EQ(ops::arange(5, 1).num_elements(), 0);
}

}  // namespace
}  // namespace nyala
