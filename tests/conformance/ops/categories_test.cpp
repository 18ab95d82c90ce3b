#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/categories/fingerprint.h>
#include <nyala/backend/ops/categories/hashing.h>
#include <nyala/backend/ops/categories/lookup.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing::categories_test {
namespace {

Tensor whole(const std::vector<int64_t>& values) { return Tensor::from(values); }

/// What TensorFlow 2.21 gives modulo 2^62 for texts of `length` letters.
struct Known {
  size_t length;
  uint64_t fast, strong;  // under the key 7, 11
};
constexpr Known kKnown[] = {
    {0, 1936946117179621455, 3361664221164768847},  {1, 3694432073954588131, 3442210485099530380},
    {3, 3268219959478574187, 4609206652556210538},  {4, 4287492572700357266, 3579890905412892658},
    {7, 3253435701257059082, 1141517155343838866},  {8, 1420088497208371232, 4538683922310301663},
    {16, 3789395809548765534, 138097004272744624},  {17, 2237273621417572890, 4514386649263142278},
    {32, 1600711689105381820, 3060235508121787335}, {33, 3433394632666913964, 1595091473817360350},
    {64, 2314457052903470750, 1608781599662815253}, {65, 2768067016444695309, 4256668674546110389},
    {128, 1257756605311619469, 412734644413069767}, {200, 1240499323248885300, 427618667853673081},
};

TEST(Categories, FingerprintsAreThoseOfTensorFlow) {
  for (const Known& known : kKnown) {
    std::string text;
    for (size_t i = 0; i < known.length; ++i) text += static_cast<char>('a' + (i * 7) % 26);
    const uint64_t modulus = uint64_t{1} << 62;
    EXPECT_EQ(ops::detail::fingerprint64(text) % modulus, known.fast) << known.length;
    EXPECT_EQ(ops::detail::keyed_fingerprint64({7, 11}, text) % modulus, known.strong) << known.length;
  }
}

TEST(Categories, HashesOfAnyIntegers) {
  const Tensor x =
      whole({0, -1, 5, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
  const Tensor bins = ops::hash_buckets(x, {.num_buckets = 1000});
  EXPECT_EQ(bins.dtype(), DType::int64);
  for (const double bin : values_of(bins)) EXPECT_TRUE(bin >= 0 && bin < 1000) << bin;
  const Tensor small = Tensor::from(std::vector<int32_t>{0, -1, 5});
  EXPECT_EQ(values_of(ops::hash_buckets(small, {.num_buckets = 1000})),
            values_of(ops::hash_buckets(whole({0, -1, 5}), {.num_buckets = 1000})));
  EXPECT_EQ(ops::hash_buckets(Tensor::zeros({0, 2}, DType::int64), {.num_buckets = 3}).shape(),
            (Shape{0, 2}));
  expect_kernels_agree(
      [](const Tensors& t) {
        return ops::hash_buckets(t[0], {.num_buckets = 9, .is_keyed = true, .key = {1, 2}});
      },
      {x});
  expect_kernels_agree([](const Tensors& t) { return ops::crossed_hash_buckets({t[0], t[1]}, 9); }, {x, x});
  EXPECT_THROW(ops::hash_buckets(Tensor::zeros({2}), {.num_buckets = 3}), DTypeError);
  EXPECT_THROW(ops::hash_buckets(x, {.num_buckets = 0}), InvalidArgumentError);
  EXPECT_THROW(ops::crossed_hash_buckets({x, whole({1})}, 3), ShapeError);
  EXPECT_THROW(ops::crossed_hash_buckets({}, 3), InvalidArgumentError);
}

TEST(Categories, LooksUp) {
  const Tensor keys = whole({-7, 2, 100}), values = whole({10, 20, 30});
  const Tensor x = Tensor::from(std::vector<int64_t>{2, 3, -7, 100, 101, -8}, {2, 3});
  EXPECT_EQ(values_of(ops::lookup(x, keys, values)), (std::vector<double>{20, -1, 10, 30, -1, -1}));
  EXPECT_EQ(values_of(ops::lookup(x, whole({}), whole({}), {.missing = 5})), std::vector<double>(6, 5.0));
  expect_kernels_agree([](const Tensors& t) { return ops::lookup(t[0], t[1], t[2], {.missing = 4}); },
                       {x, keys, values});
  EXPECT_THROW(ops::lookup(x, keys, whole({1})), ShapeError);
  EXPECT_THROW(ops::lookup(Tensor::zeros({2}), keys, values), ShapeError);
}

TEST(Categories, ReportsWhatIsMissing) {
  const Tensor x = Tensor::from(std::vector<int64_t>{2, 3}, {1, 2});
  try {
    ops::lookup(x, whole({2}), whole({1}), {.is_required = true});
    FAIL() << "nothing was thrown";
  } catch (const NumericError& error) {
    EXPECT_NE(std::string(error.what()).find("3 at (0, 1) is not in the vocabulary of 1"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace nyala::testing::categories_test
