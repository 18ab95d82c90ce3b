// Numbers beside tensors: they take the tensor's dtype where it holds their kind, exactly. The table of
// dtypes is that of keras.ops (3.15), but for bytes in arithmetic, which are int32 here so that nothing wraps
// around.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/bitwise.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala::literals_test {
namespace {

constexpr int64_t kOdd32 = 16'777'217;             // 2^24 + 1: no float32
constexpr int64_t kOdd64 = 9'007'199'254'740'993;  // 2^53 + 1: no double
constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

using Binary = Tensor (*)(const Operand&, const Operand&);

Tensor chosen(const Operand& a, const Operand& b) {
  return ops::where(Tensor::ones({2}, DType::bool_), a, b);
}

struct Named {
  const char* name;
  Binary op;
};
const Named kArithmetic[] = {{"add", ops::add},           {"subtract", ops::subtract},
                             {"multiply", ops::multiply}, {"power", ops::power},
                             {"mod", ops::mod},           {"squared_difference", ops::squared_difference}};
const Named kSelecting[] = {{"maximum", ops::maximum},
                            {"minimum", ops::minimum},
                            {"floor_divide", ops::floor_divide},
                            {"where", chosen}};

Tensor integers(std::vector<int64_t> values) { return Tensor::from(values); }
std::vector<int64_t> values(const Tensor& x) { return x.to_vector<int64_t>(); }
using Integers = std::vector<int64_t>;
using Truths = std::vector<bool>;

TEST(Literals, TakeTheDtypeBesideThem) {
  struct Row {
    DType tensor, whole_arithmetic, whole_power, whole_selecting, fraction;
  };
  const Row rows[] = {{DType::bool_, DType::int32, DType::int32, DType::int32, DType::float32},
                      {DType::uint8, DType::int32, DType::uint8, DType::uint8, DType::float32},
                      {DType::int32, DType::int32, DType::int32, DType::int32, DType::float32},
                      {DType::int64, DType::int64, DType::int64, DType::int64, DType::float32},
                      {DType::float32, DType::float32, DType::float32, DType::float32, DType::float32},
                      {DType::float64, DType::float64, DType::float64, DType::float64, DType::float64}};
  const auto check = [](const Named& f, const Tensor& x, DType whole, DType fraction) {
    SCOPED_TRACE(std::string(f.name) + " of " + std::string(name_of(x.dtype())));
    EXPECT_EQ(f.op(x, 2).dtype(), whole);
    EXPECT_EQ(f.op(2, x).dtype(), whole);
    EXPECT_EQ(f.op(x, 2.5).dtype(), fraction);
    EXPECT_EQ(f.op(2.0f, x).dtype(), fraction);
  };
  for (const Row& row : rows) {
    const Tensor x = Tensor::ones({2}, row.tensor);
    for (const Named& f : kArithmetic)
      check(f, x, f.name == std::string_view("power") ? row.whole_power : row.whole_arithmetic, row.fraction);
    for (const Named& f : kSelecting) check(f, x, row.whole_selecting, row.fraction);
    const DType real = is_floating(row.tensor) ? row.tensor : DType::float32;
    for (const Binary op : {&ops::divide, &ops::arctan2}) EXPECT_EQ(op(x, 2).dtype(), real);
  }
  EXPECT_EQ(ops::where(Tensor::ones({2}), 1, 0).dtype(), DType::int32);
  EXPECT_EQ(ops::where(Tensor::ones({2}), 1.0, 0).dtype(), DType::float32);
  EXPECT_EQ(ops::where(Tensor::ones({2}), true, false).dtype(), DType::bool_);
  EXPECT_EQ(ops::maximum(1, 2).dtype(), DType::int32);
}

TEST(Literals, AreExactBesideIntegers) {
  const Tensor l = integers({kOdd32, kOdd64, -kOdd64});
  EXPECT_EQ(values(l + 0), (Integers{kOdd32, kOdd64, -kOdd64}));
  EXPECT_EQ(values(kOdd64 - l), (Integers{kOdd64 - kOdd32, 0, 2 * kOdd64}));
  EXPECT_EQ(values(l * 1), values(l));
  EXPECT_EQ(values(-l), (Integers{-kOdd32, -kOdd64, kOdd64}));
  EXPECT_EQ(values(ops::maximum(l, 0)), (Integers{kOdd32, kOdd64, 0}));
  EXPECT_EQ(values(ops::minimum(kMost, l)), values(l));
  EXPECT_EQ(values(ops::maximum(l, kLeast)), values(l));
  EXPECT_EQ(values(ops::where(l > 0, l, kLeast)), (Integers{kOdd32, kOdd64, kLeast}));
  EXPECT_EQ(values(ops::mod(l, 2)), (Integers{1, 1, 1}));
  EXPECT_EQ(values(ops::floor_divide(l, 2)), (Integers{kOdd32 / 2, kOdd64 / 2, -kOdd64 / 2 - 1}));
  EXPECT_EQ(values(ops::power(integers({3, -3}), 33)), (Integers{5559060566555523, -5559060566555523}));
  EXPECT_EQ(values(ops::full_like(l, kOdd64)), (Integers{kOdd64, kOdd64, kOdd64}));
  Tensor sum = l;
  sum += 2;
  EXPECT_EQ(values(sum), (Integers{kOdd32 + 2, kOdd64 + 2, 2 - kOdd64}));
  EXPECT_EQ(Tensor::full({1}, kMost, DType::int64).at<int64_t>({0}), kMost);
}

TEST(Literals, CompareExactly) {
  const Tensor l = integers({kOdd64 - 1, kOdd64, kOdd64 + 1});
  EXPECT_EQ((l == kOdd64).to_vector<bool>(), (Truths{0, 1, 0}));
  EXPECT_EQ((l != kOdd64).to_vector<bool>(), (Truths{1, 0, 1}));
  EXPECT_EQ((l != 0x1p53).to_vector<bool>(), (Truths{0, 1, 1}));
  EXPECT_EQ((kOdd64 < l).to_vector<bool>(), (Truths{0, 0, 1}));
  EXPECT_EQ((l >= kOdd64).to_vector<bool>(), (Truths{0, 1, 1}));
  EXPECT_EQ((l <= 0x1p53).to_vector<bool>(), (Truths{1, 0, 0}));
  EXPECT_EQ((l > kLeast).to_vector<bool>(), (Truths{1, 1, 1}));
  EXPECT_EQ((integers({kOdd32}) > 16'777'216.5).to_vector<bool>(), Truths{1});
  EXPECT_EQ((integers({2, 3}) == 2.5).to_vector<bool>(), (Truths{0, 0}));
  EXPECT_EQ((Tensor::from(std::vector<uint8_t>{44, 255}) > 300).to_vector<bool>(), (Truths{0, 0}));
  EXPECT_EQ((Tensor::from(std::vector<uint8_t>{44, 255}) > -1).to_vector<bool>(), (Truths{1, 1}));
  EXPECT_EQ((Tensor::ones({1}, DType::bool_) == 2).to_vector<bool>(), Truths{0});
  EXPECT_EQ(ops::isclose(l, 1.5).to_vector<bool>(), (Truths{0, 0, 0}));
}

TEST(Literals, KeepTheBitsOfDoubles) {
  const Tensor x = Tensor::from(std::vector<double>{0.3, -0.3});
  const auto first = [](const Tensor& y) { return y.at<double>({0}); };
  EXPECT_EQ(first(ops::maximum(x, 0.7)), 0.7);
  EXPECT_EQ(first(ops::where(x > 1, x, 0.1)), 0.1);
  EXPECT_EQ(first(ops::mod(x, 0.2)), std::fmod(0.3, 0.2));
  EXPECT_EQ(first(x + 0.1), 0.3 + 0.1);
  EXPECT_EQ(first(0.1 / x), 0.1 / 0.3);
  EXPECT_EQ(first(ops::power(0.1, x)), std::pow(0.1, 0.3));
  EXPECT_EQ(first(ops::add(x, kOdd32)), 0.3 + static_cast<double>(kOdd32));
  EXPECT_EQ((x == 0.3).to_vector<bool>(), (Truths{1, 0}));
}

TEST(Literals, ThatTheIntegersDoNotHoldWidenThem) {
  const Tensor i = Tensor::from(std::vector<int32_t>{5, -5}), u = Tensor::from(std::vector<uint8_t>{5, 250});
  EXPECT_EQ(values(i + 3'000'000'000), (Integers{3'000'000'005, 2'999'999'995}));
  EXPECT_EQ((u + 10).to_vector<int32_t>(), (std::vector<int32_t>{15, 260}));
  EXPECT_EQ((-u).to_vector<int32_t>(), (std::vector<int32_t>{-5, -250}));
  EXPECT_EQ(ops::maximum(u, 300).to_vector<int32_t>(), (std::vector<int32_t>{300, 300}));
  EXPECT_EQ(ops::maximum(u, -1).to_vector<int32_t>(), (std::vector<int32_t>{5, 250}));
  EXPECT_EQ(values(ops::maximum(u, 3'000'000'000)), (Integers{3'000'000'000, 3'000'000'000}));
}

TEST(Bitwise, OnBitsAndTruthValues) {
  const Tensor a = Tensor::from(std::vector<int32_t>{0b1100, -1}),
               b = Tensor::from(std::vector<uint8_t>{0b1010, 7});
  EXPECT_EQ((a & b).to_vector<int32_t>(), (std::vector<int32_t>{0b1000, 7}));
  EXPECT_EQ((a | b).to_vector<int32_t>(), (std::vector<int32_t>{0b1110, -1}));
  EXPECT_EQ((a ^ b).to_vector<int32_t>(), (std::vector<int32_t>{0b0110, -8}));
  EXPECT_EQ((~a).to_vector<int32_t>(), (std::vector<int32_t>{~0b1100, 0}));
  EXPECT_EQ((~b).to_vector<uint8_t>(), (std::vector<uint8_t>{0xf5, 0xf8}));
  EXPECT_EQ((1 & b).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(values(integers({kMost}) & kOdd64), (Integers{kOdd64}));
  const Tensor x({-1, 0.5, 2});
  EXPECT_EQ(((x > 0) & (x < 1)).to_vector<bool>(), (Truths{0, 1, 0}));
  EXPECT_EQ(((x < 0) | (x > 1)).to_vector<bool>(), (Truths{1, 0, 1}));
  EXPECT_EQ(((x > 0) ^ true).to_vector<bool>(), (Truths{1, 0, 0}));
  EXPECT_EQ((~(x > 0)).to_vector<bool>(), (Truths{1, 0, 0}));
  EXPECT_THROW(x & 1, Error);
  EXPECT_THROW(~x, Error);
}

TEST(FullLike, HasShapeDtypeAndDevice) {
  const Tensor x = Tensor::zeros({2, 3}, DType::int64);
  EXPECT_EQ(ops::full_like(x, 7).shape(), Shape({2, 3}));
  EXPECT_EQ(ops::full_like(x, 7).dtype(), DType::int64);
  EXPECT_EQ(ops::full_like(x, 2.5).dtype(), DType::int64);  // cut, as in Keras
  EXPECT_EQ(ops::full_like(x, 2.5, DType::float32).at<float>({1, 2}), 2.5f);
  EXPECT_EQ(ops::ones_like(x, DType::bool_).at<bool>({0, 0}), true);
  EXPECT_EQ(ops::zeros_like(x).at<int64_t>({0, 0}), 0);
}

}  // namespace
}  // namespace nyala::literals_test
