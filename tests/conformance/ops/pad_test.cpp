#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor two_by_three() { return tensor_of({0, 1, 2, 3, 4, 5}, {2, 3}); }

// Expected numbers of NumPy.
TEST(Pad, AddsElements) {
  expect_close(ops::pad(two_by_three(), {{1, 0}, {0, 2}}, "constant", 9),
               tensor_of({9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9}, {3, 5}));
  expect_close(ops::pad(two_by_three(), {{1, 1}, {2, 1}}, "reflect"),
               tensor_of({5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1}, {4, 6}));
  expect_close(ops::pad(two_by_three(), {{2, 1}, {1, 3}}, "symmetric"),
               tensor_of({3, 3, 4, 5, 5, 4, 3, 0, 0, 1, 2, 2, 1, 0, 0, 0, 1, 2,
                          2, 1, 0, 3, 3, 4, 5, 5, 4, 3, 3, 3, 4, 5, 5, 4, 3},
                         {5, 7}));
  expect_close(ops::pad(random_tensor({0}, 1), {{1, 2}}), tensor_of({0, 0, 0}, {3}));
  expect_close(ops::pad(tensor_of({7}, {1}, DType::int32), {{1, 0}}, "constant", -2),
               tensor_of({-2, 7}, {2}, DType::int32));
}

TEST(Pad, ShapesAndErrors) {
  EXPECT_EQ(
      ops::pad(Tensor::abstract({None, 4, 4, 3}, DType::float32), {{0, 0}, {1, 1}, {0, 2}, {0, 0}}).shape(),
      (Shape{None, 6, 6, 3}));
  EXPECT_THAT(
      [] {
        ops::pad(two_by_three(), {{1, 1}});
      },
      ThrowsMessage<ShapeError>(HasSubstr("each axis of (2, 3), received 1")));
  EXPECT_THAT(
      [] {
        ops::pad(two_by_three(), {{2, 0}, {0, 0}}, "reflect");
      },
      ThrowsMessage<ShapeError>(HasSubstr("at most 1 elements on axis 0")));
  EXPECT_THROW(ops::pad(two_by_three(), {{-1, 0}, {0, 0}}), ShapeError);
  constexpr int64_t kMost = INT64_MAX;  // sums of widths that wrap around to small ones
  for (const std::pair<int64_t, int64_t> widths :
       {std::pair{kMost, kMost}, {kMost / 2 + 1, kMost / 2}, {0, kMost}})
    EXPECT_THAT(
        [&] {
          ops::pad(two_by_three(), {widths, {0, 0}});
        },
        ThrowsMessage<ShapeError>(HasSubstr("more elements than int64 can count")));
  EXPECT_THAT(
      [] {
        ops::pad(two_by_three(), {{0, 0}, {0, 0}}, "reflekt");
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("did you mean 'reflect'")));
}

TEST(Pad, GradientsAndKernels) {
  for (const std::string mode : {"constant", "reflect", "symmetric"}) {
    const OpFunction f = [&](const Tensors& t) { return ops::pad(t[0], {{0, 0}, {1, 2}, {2, 0}}, mode); };
    expect_gradients(f, {random_tensor({2, 3, 4}, 1)});
    for (const Shape& shape : {Shape{0, 3, 3}, Shape{1, 3, 5}, Shape{17, 33, 65}})
      expect_kernels_agree(f, {random_tensor(shape, 2)});
  }
}

TEST(Pad, WholeSlabsOfPadding) {
  for (const double value : {0.0, 2.5}) {
    const OpFunction f = [=](const Tensors& t) {
      return ops::pad(t[0], {{3, 2}, {0, 0}, {1, 0}}, "constant", value);
    };
    for (const Shape& shape : {Shape{3, 4, 5}, Shape{9, 1, 1}, Shape{30, 40, 50}}) {
      expect_kernels_agree(f, {random_tensor(shape, 2)});
      expect_kernels_agree(f, {random_tensor(shape, 2, -2, 2, DType::float64)});
    }
  }
}

}  // namespace
}  // namespace nyala::testing
