#include <cmath>

#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor two_by_three() { return tensor_of({0, 1, 2, 3, 4, 5}, {2, 3}); }
Tensor indices_of(const std::vector<double>& values, const Shape& shape, DType dtype = DType::int32) {
  return tensor_of(values, shape, dtype);
}

// Expected numbers of NumPy.
TEST(Take, PicksSlices) {
  expect_close(ops::take(two_by_three(), indices_of({2, -1, 0, 1}, {2, 2}), 1),
               tensor_of({2, 2, 0, 1, 5, 5, 3, 4}, {2, 2, 2}));
  expect_close(ops::take(two_by_three(), indices_of({1}, {}, DType::int64)), tensor_of({3, 4, 5}, {3}));
  EXPECT_EQ(ops::take(two_by_three(), indices_of({}, {0})).shape(), (Shape{0, 3}));
  expect_close(ops::take(tensor_of({7, 8, 9}, {3}, DType::uint8), indices_of({2, 0}, {2}, DType::uint8)),
               tensor_of({9, 7}, {2}, DType::uint8));
}

TEST(TakeAlongAxis, PicksElements) {
  expect_close(ops::take_along_axis(two_by_three(), indices_of({2, 0, 1, 1}, {2, 2}), 1),
               tensor_of({2, 0, 4, 4}, {2, 2}));
  expect_close(ops::take_along_axis(two_by_three(), indices_of({1, 0, -1}, {1, 3}), 0),
               tensor_of({3, 1, 5}, {1, 3}));
}

TEST(OneHot, SetsOneClass) {
  expect_close(ops::one_hot(indices_of({1, 3, -1}, {3}), 3), tensor_of({0, 1, 0, 0, 0, 0, 0, 0, 0}, {3, 3}));
  expect_close(ops::one_hot(indices_of({1, 0}, {2}), 3, 0, DType::int32),
               tensor_of({0, 1, 1, 0, 0, 0}, {3, 2}, DType::int32));
  EXPECT_EQ(ops::one_hot(Tensor::abstract({None, 4}, DType::int64), 7).shape(), (Shape{None, 4, 7}));
  EXPECT_EQ(ops::one_hot(indices_of({}, {0}), 4).shape(), (Shape{0, 4}));
  EXPECT_THROW(ops::one_hot(indices_of({1}, {1}), 3, 2), ShapeError);
  expect_close(ops::one_hot(tensor_of({2.0, 0.7}, {2}), 3), tensor_of({0, 0, 1, 1, 0, 0}, {2, 3}));
  EXPECT_THROW(ops::one_hot(indices_of({1}, {1}), -1), InvalidArgumentError);
}

TEST(Take, ShapesAndErrors) {
  const Tensor table = Tensor::abstract({100, 8}, DType::float32);
  EXPECT_EQ(ops::take(table, Tensor::abstract({None, 5}, DType::int32)).shape(), (Shape{None, 5, 8}));
  EXPECT_THAT(
      [&] { ops::take(table, Tensor::abstract({2}, DType::float32)); },
      ThrowsMessage<ShapeError>(HasSubstr("expected indices of int32, int64 or uint8, received float32")));
  EXPECT_THROW(ops::take(table, Tensor::abstract({2}, DType::int32), 2), ShapeError);
  EXPECT_THAT(
      [] {
        ops::take_along_axis(two_by_three(), indices_of({0, 0, 0}, {3, 1}), 1);
      },
      ThrowsMessage<ShapeError>(HasSubstr("received (2, 3) and (3, 1)")));
}

TEST(Take, BadIndicesAreReportedAndGiveNan) {
  for (const std::string_view kernel : {"reference", "rows"}) {
    ScopedValue<std::string_view> only(thread_context().only_kernel, kernel);
    StatusWords words;
    const StatusScope reports(words);
    const std::vector<double> y = values_of(ops::take(two_by_three(), Tensor::from<int32_t>({1, 2, -3})));
    EXPECT_EQ(y[2], 5.0);
    for (size_t i = 3; i < 9; ++i) EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_THAT([&] { words.check(); }, ThrowsMessage<NumericError>(HasSubstr("outside [0, 2)")));
  }
  const Tensor x = two_by_three(), bad = indices_of({9}, {1});
  EXPECT_THROW(ops::take(x, bad), NumericError);  // where nobody else looks
}

TEST(Take, GradientsAndKernels) {
  const Tensor some = indices_of({1, 0, 1, -1, 1, 2}, {2, 3});
  for (const int axis : {0, 1, 2}) {
    const OpFunction f = [=](const Tensors& t) { return ops::take(t[0], t[1], axis); };
    expect_gradients(f, {random_tensor({3, 3, 3}, 1), some});
    expect_kernels_agree(f, {random_tensor({3, 4, 5}, 1), some});
    expect_kernels_agree(f, {random_tensor({3, 4, 5}, 1), indices_of({}, {0})});
    expect_kernels_agree(f,
                         {random_tensor({40, 50, 33}, 1), random_tensor({7, 30}, 2, -33, 33, DType::int64)});
  }
  const OpFunction embedding = [](const Tensors& t) { return ops::take(t[0], t[1], 0); };
  const Tensors large{random_tensor({1000, 64}, 1), random_tensor({32, 100}, 2, 0, 1000, DType::int32)};
  expect_kernels_agree(embedding, large);
  EXPECT_THAT(kernels_that_run(embedding, large), ::testing::Contains("take_backward: rows"));
}

TEST(TakeAlongAxis, GradientsAndKernels) {
  for (const int axis : {0, 1, 2}) {
    const OpFunction f = [=](const Tensors& t) { return ops::take_along_axis(t[0], t[1], axis); };
    for (const int64_t picked : {1, 4}) {
      const Tensor picks = random_tensor(Shape{3, 3, 3}.with(axis, picked), 5, -3, 3, DType::int32);
      expect_gradients(f, {random_tensor({3, 3, 3}, 1), picks});
      expect_kernels_agree(f, {random_tensor({3, 3, 3}, 1), picks});
    }
  }
}

}  // namespace
}  // namespace nyala::testing
