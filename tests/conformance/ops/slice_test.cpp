#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::AxisRange;
using ops::kToEnd;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor counting(const Shape& shape) {
  return ops::reshape(ops::arange(0, static_cast<double>(shape.num_elements()), {.dtype = DType::float32}),
                      shape);
}

// Expected numbers of NumPy.
TEST(Slice, FollowsPythonsRules) {
  const Tensor x = counting({2, 3, 4});
  expect_close(ops::strided_slice(x, {{.start = 1}, {.step = -2}, {3, 0, -1}}),
               tensor_of({23, 22, 21, 15, 14, 13}, {1, 2, 3}));
  expect_close(ops::strided_slice(x, {{}, {.start = -2}, {kToEnd, -1, 2}}),
               tensor_of({4, 6, 8, 10, 16, 18, 20, 22}, {2, 2, 2}));
  expect_close(ops::flip(x, {0, 2}), tensor_of({15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21, 20,
                                                3,  2,  1,  0,  7,  6,  5,  4,  11, 10, 9,  8},
                                               {2, 3, 4}));
  expect_close(ops::flip(counting({3})), tensor_of({2, 1, 0}, {3}));
  expect_close(ops::slice(x, {1, 0, 2}, {1, 2, -1}), tensor_of({14, 15, 18, 19}, {1, 2, 2}));
}

/// Which elements of 0 .. size - 1 Python's range takes: by walking, not by arithmetic.
std::vector<double> walked(int64_t size, int64_t start, int64_t stop, int64_t step) {
  std::vector<double> out;
  for (int64_t i = step > 0 ? 0 : size - 1; i >= 0 && i<size; i += step> 0 ? 1 : -1) {
    const int64_t first = start < 0 ? start + size : start, last = stop < 0 ? stop + size : stop;
    const int64_t origin = step > 0 ? std::max<int64_t>(first, 0) : std::min(first, size - 1);
    const bool inside = step > 0 ? i >= first && i < last : i <= first && i > last;
    if (inside && (i - origin) % step == 0) out.push_back(static_cast<double>(i));
  }
  return out;
}

TEST(Slice, EveryRangeOfShortAxes) {
  for (const int64_t size : {1, 2, 5})
    for (int64_t start = -7; start <= 7; ++start)
      for (int64_t stop = -7; stop <= 7; ++stop)
        for (const int32_t step : {1, 2, 3, 9, -1, -2, -9}) {
          const Tensor y = ops::slice_axis(counting({size}), 0, {start, stop, step});
          ASSERT_EQ(values_of(y), walked(size, start, stop, step))
              << size << ": " << start << ":" << stop << ":" << step;
        }
}

TEST(Slice, ShapesOfGraphs) {
  const Tensor x = Tensor::abstract({None, 6, 3}, DType::float32);
  EXPECT_EQ(ops::slice_axis(x, 1, {1, -1, 2}).shape(), (Shape{None, 2, 3}));
  EXPECT_EQ(ops::slice_axis(x, 0, {1, 5, 1}).shape(), (Shape{None, 6, 3}));
  EXPECT_EQ(ops::slice(x, {0, 2, 0}, {-1, 2, 3}).shape(), (Shape{None, 2, 3}));
  EXPECT_EQ(ops::slice(x, {0, 2, 0}, {4, 2, 3}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(ops::split(x, 3, 1)[2].shape(), (Shape{None, 2, 3}));
  EXPECT_EQ(ops::flip(x).shape(), x.shape());
}

TEST(Slice, NamesWhatDoesNotFit) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(
      [&] {
        ops::slice(x, {0, 1}, {2, 3});
      },
      ThrowsMessage<ShapeError>(HasSubstr("elements 1 to 4 to exist on axis 1, received (2, 3)")));
  EXPECT_THROW(ops::slice(x, {-1, 0}, {1, 1}), ShapeError);
  EXPECT_THROW(ops::slice(x, {0}, {1}), ShapeError);
  EXPECT_THROW(ops::strided_slice(x, {{}, {}, {}}), ShapeError);
  EXPECT_THAT([&] { ops::split(x, 2, 1); },
              ThrowsMessage<ShapeError>(HasSubstr("divides axis 1 of (2, 3), received 2")));
  EXPECT_THROW(ops::split(x, std::vector<int64_t>{2, 1}, 1), InvalidArgumentError);
}

TEST(Split, CutsAtIndices) {
  const Tensors parts = ops::split(counting({2, 5}), std::vector<int64_t>{1, 3}, -1);
  ASSERT_EQ(parts.size(), 3u);
  expect_close(parts[0], tensor_of({0, 5}, {2, 1}));
  expect_close(parts[1], tensor_of({1, 2, 6, 7}, {2, 2}));
  expect_close(parts[2], tensor_of({3, 4, 8, 9}, {2, 2}));
  EXPECT_EQ(ops::split(counting({4, 2}), 4).size(), 4u);
  EXPECT_EQ(ops::split(counting({4}), std::vector<int64_t>{0, 4})[2].shape(), Shape{0});
}

TEST(Slice, GradientsAndKernels) {
  const std::vector<OpFunction> functions{
      [](const Tensors& t) {
        return ops::strided_slice(t[0], {{.step = -1}, {1, kToEnd, 2}, {kToEnd, -1, 1}});
      },
      [](const Tensors& t) {
        return ops::slice(t[0], {0, 1, 1}, {-1, 2, 1});
      },
      [](const Tensors& t) { return ops::flip(t[0], {1}); },
      [](const Tensors& t) {
        return ops::slice_axis(t[0], 1, {3, 3, 1});
      },
      [](const Tensors& t) {
        const Tensors parts = ops::split(t[0], 2, 2);
        return parts[0] * parts[1];
      }};
  for (const OpFunction& f : functions) {
    expect_gradients(f, {random_tensor({2, 4, 4}, 1)});
    for (const Shape& shape : {Shape{0, 4, 4}, Shape{1, 3, 2}, Shape{5, 7, 18}, Shape{33, 40, 130}})
      expect_kernels_agree(f, {random_tensor(shape, 2)});
  }
}

TEST(Slice, LongRows) {
  const OpFunction f = [](const Tensors& t) { return ops::slice_axis(t[0], 1, {.start = 5}); };
  expect_kernels_agree(f, {random_tensor({2, 200003}, 1)});
  EXPECT_THAT(kernels_that_run(f, {random_tensor({2, 9}, 1)}), ::testing::Contains("slice: strided"));
}

}  // namespace
}  // namespace nyala::testing
