#include <numeric>

#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor counting(const Shape& shape) {
  return ops::reshape(ops::arange(0, static_cast<double>(shape.num_elements()), {.dtype = DType::float32}),
                      shape);
}

// Expected numbers of NumPy.
TEST(Transpose, MovesElements) {
  const Tensor x = counting({2, 3, 4});
  expect_close(ops::transpose(x, {2, 0, 1}), tensor_of({0, 4, 8,  12, 16, 20, 1, 5, 9,  13, 17, 21,
                                                        2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23},
                                                       {4, 2, 3}));
  expect_close(ops::moveaxis(x, 0, -1), tensor_of({0, 12, 1, 13, 2, 14, 3, 15, 4,  16, 5,  17,
                                                   6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23},
                                                  {3, 4, 2}));
  expect_close(ops::transpose(counting({2, 3})), tensor_of({0, 3, 1, 4, 2, 5}, {3, 2}));
  expect_close(ops::swapaxes(counting({2, 3}), 0, -1), tensor_of({0, 3, 1, 4, 2, 5}, {3, 2}));
}

TEST(Transpose, ShapesOfGraphs) {
  const Tensor x = Tensor::abstract({None, 5, 7}, DType::float32);
  EXPECT_EQ(ops::transpose(x).shape(), (Shape{7, 5, None}));
  EXPECT_EQ(ops::moveaxis(x, 2, 1).shape(), (Shape{None, 7, 5}));
  EXPECT_EQ(ops::transpose(random_tensor({}, 1)).shape(), Shape{});
}

TEST(Transpose, NamesWrongAxes) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(
      [&] {
        ops::transpose(x, {0, 0});
      },
      ThrowsMessage<ShapeError>(HasSubstr("each axis of (2, 3) once, received axes (0, 0)")));
  EXPECT_THROW(ops::transpose(x, {0}), ShapeError);
  EXPECT_THROW(ops::transpose(x, {0, 2}), ShapeError);
  EXPECT_THROW(ops::swapaxes(x, 0, 2), ShapeError);
}

TEST(Transpose, EveryPermutationOfFourAxes) {
  std::vector<int> axes{0, 1, 2, 3};
  const Tensor odd = random_tensor({3, 5, 2, 7}, 1), large = random_tensor({2, 37, 6, 70}, 2);
  do {
    const OpFunction f = [&](const Tensors& t) { return ops::transpose(t[0], axes); };
    expect_gradients(f, {random_tensor({2, 3, 1, 2}, 3)});
    expect_kernels_agree(f, {odd});
    expect_kernels_agree(f, {large});
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST(Transpose, AllDtypesAndSizes) {
  for (const DType dtype :
       {DType::float64, DType::int32, DType::int64, DType::uint8, DType::bool_, DType::bfloat16})
    for (const Shape& shape : {Shape{0, 3}, Shape{1, 1}, Shape{67, 129}, Shape{300, 200}}) {
      const Tensor x = random_tensor(shape, 4, 0, 100, dtype);
      const Tensor y = ops::transpose(x);
      const std::vector<double> from = values_of(x), to = values_of(y);
      for (int64_t i = 0; i < shape[0]; ++i)
        for (int64_t j = 0; j < shape[1]; ++j)
          ASSERT_EQ(to[static_cast<size_t>(j * shape[0] + i)], from[static_cast<size_t>(i * shape[1] + j)]);
    }
}

}  // namespace
}  // namespace nyala::testing
