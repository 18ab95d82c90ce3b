#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::int32,    DType::int64,
                          DType::uint8,   DType::bool_,   DType::bfloat16, DType::float16};

TEST(DTypeTest, NamesAndSizes) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_EQ(name_of(DType::bool_), "bool");
  EXPECT_EQ(size_of(DType::float64), 8u);
  EXPECT_EQ(size_of(DType::float16), 2u);
  EXPECT_EQ(size_of(DType::bool_), 1u);
  EXPECT_TRUE(is_floating(DType::bfloat16));
  EXPECT_FALSE(is_floating(DType::uint8));
}

TEST(DTypeTest, AnUnknownNameGetsAHint) {
  try {
    parse_dtype("flaot32");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'float32'?"), std::string::npos) << error.what();
  }
}

TEST(DTypeTest, ItsNameStandsForItWhereverOneIsTaken) {
  const Tensor x({1.5, -2.5});
  EXPECT_EQ(x.astype("int32").to_vector<int32_t>(), (std::vector<int32_t>{1, -2}));
  EXPECT_EQ(ops::cast(x, std::string("float64")).dtype(), DType::float64);
  EXPECT_EQ(Tensor::zeros({2}, "bool").dtype(), DType::bool_);
  EXPECT_EQ(ops::arange(0, 3, {.dtype = "int64"}).dtype(), DType::int64);
  EXPECT_EQ(ops::ones_like(x, "uint8").dtype(), DType::uint8);
  EXPECT_EQ(Variable(1.0, {.dtype = "float64"}).dtype(), DType::float64);
  EXPECT_EQ(DType("bfloat16"), DType::bfloat16);
  EXPECT_TRUE(x.dtype() == "float32");
  EXPECT_THROW(x.astype("int23"), InvalidArgumentError);
  const DType chosen = x.rank() == 1 ? DType::int32 : x.dtype();
  EXPECT_EQ(chosen, DType::int32);
}

TEST(DTypeTest, PromotionIsALattice) {
  EXPECT_EQ(promote(DType::bool_, DType::uint8), DType::uint8);
  EXPECT_EQ(promote(DType::uint8, DType::int32), DType::int32);
  EXPECT_EQ(promote(DType::int64, DType::float16), DType::float16);
  EXPECT_EQ(promote(DType::float16, DType::bfloat16), DType::float32);
  EXPECT_EQ(promote(DType::float32, DType::float64), DType::float64);
  for (const DType a : kAll) {
    EXPECT_EQ(promote(a, a), a);
    for (const DType b : kAll) {
      EXPECT_EQ(promote(a, b), promote(b, a));
      EXPECT_EQ(promote(promote(a, b), b), promote(a, b));
    }
  }
}

TEST(DTypeTest, DispatchRefusesWhatHasNoArithmetic) {
  const auto size = []<class T>(T) { return sizeof(T); };
  EXPECT_EQ(dispatch_arithmetic(DType::int64, "op", size), 8u);
  EXPECT_THROW(dispatch_arithmetic(DType::float16, "op", size), DTypeError);
  EXPECT_THROW(dispatch_real(DType::int32, "op", size), DTypeError);
  EXPECT_EQ(dispatch_any(DType::bfloat16, size), 2u);
}

/// Every bit pattern with an exponent near those of half precision, and special values.
std::vector<float> many_floats() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               65504.0f,
                               65519.99f,
                               65520.0f,
                               -65520.0f,
                               1e30f,
                               std::nanf(""),
                               5.96e-8f,
                               2.98e-8f,
                               2.9802323e-8f,
                               6.1e-5f,
                               6.097555e-5f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::denorm_min()};
  for (uint32_t bits = 0x30000000u; bits < 0x48800000u; bits += 977) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits));
  }
  return values;
}

TEST(HalfTest, ConversionFromFloatIsThatOfEigen) {
  for (const float value : many_floats()) {
    const float ours = static_cast<float>(float16(value)), theirs = static_cast<float>(Eigen::half(value));
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(ours));
    else
      ASSERT_EQ(ours, theirs) << value;
    ASSERT_EQ(std::signbit(ours), std::signbit(value)) << value;
    const float brief = static_cast<float>(bfloat16(value)),
                expected = static_cast<float>(Eigen::bfloat16(value));
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(brief));
    else
      ASSERT_EQ(brief, expected) << value;
  }
}

TEST(HalfTest, AllBitPatternsSurviveTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    float16 half;
    half.bits = static_cast<uint16_t>(bits);
    const float wide = static_cast<float>(half);
    if (!std::isnan(wide)) {
      ASSERT_EQ(float16(wide).bits, bits);
    }
    ASSERT_EQ(std::isnan(wide), (bits & 0x7fffu) > 0x7c00u);
    bfloat16 brief;
    brief.bits = static_cast<uint16_t>(bits);
    const float same = static_cast<float>(brief);
    if (!std::isnan(same)) {
      ASSERT_EQ(bfloat16(same).bits, bits);
    }
  }
}

}  // namespace

}  // namespace nyala
