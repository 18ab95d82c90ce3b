// Conversions of 16-bit floats by vectors, against the plain ones of backend/core/half.h: every bit pattern,
// every kind of rounding, every length of the end of a run.
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>

namespace nyala::half_loops_test {
namespace {

struct Level {
  std::string name;
  const HalfLoopsOfBoth* loops;
};

std::vector<Level> levels() {
  std::vector<Level> all;
  if (cpu_level() >= CpuLevel::avx2) all.push_back({"avx2", &half_loops_avx2()});
  if (cpu_level() >= CpuLevel::avx512) all.push_back({"avx512", &half_loops_avx512()});
  return all;
}

template <class T>
void expect_all_widened(const HalfLoops& loops) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(bits.size());
  loops.widen(bits.data(), wide.data(), static_cast<int64_t>(bits.size()));
  for (size_t i = 0; i < bits.size(); ++i) {
    const float expected = static_cast<float>(std::bit_cast<T>(bits[i]));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(expected)) << i;
  }
}

/// Each number that T holds, what lies just beside it, and the middle between it and the next: ties.
template <class T>
std::vector<float> hard_numbers() {
  std::vector<float> all;
  for (uint32_t i = 0; i < 65535; ++i) {
    const float x = static_cast<float>(std::bit_cast<T>(static_cast<uint16_t>(i)));
    const float next = static_cast<float>(std::bit_cast<T>(static_cast<uint16_t>(i + 1)));
    const float middle = x + (next - x) * 0.5f;
    for (const float y : {x, middle, std::nextafter(middle, x), std::nextafter(middle, next)})
      all.push_back(y);
  }
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float x : {kInf, -kInf, std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::denorm_min(), 65519.0f, 65520.0f, -65520.0f, 0.0f, -0.0f,
                        std::nanf(""), std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xff812345u)})
    all.push_back(x);
  return all;
}

template <class T>
void expect_all_narrowed(const HalfLoops& loops) {
  const std::vector<float> x = hard_numbers<T>();
  std::vector<uint16_t> bits(x.size());
  loops.narrow(x.data(), bits.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const T expected(x[i]);
    if (std::isnan(x[i]))
      ASSERT_TRUE(std::isnan(static_cast<float>(std::bit_cast<T>(bits[i])))) << i;
    else
      ASSERT_EQ(bits[i], expected.bits) << x[i];
  }
}

/// Nothing behind the end is written.
void expect_ends(const HalfLoops& loops) {
  for (int64_t count = 0; count <= 50; ++count) {
    const size_t size = static_cast<size_t>(count);
    std::vector<float> wide(size + 20, 7.0f), back(size + 20, 7.0f);
    std::vector<uint16_t> bits(size + 20, 9);
    for (size_t i = 0; i < size; ++i) wide[i] = static_cast<float>(i);
    loops.narrow(wide.data(), bits.data(), count);
    loops.widen(bits.data(), back.data(), count);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(back[i], wide[i]) << i << " of " << count;
    for (size_t i = size; i < size + 20; ++i) {
      ASSERT_EQ(bits[i], 9) << i << " of " << count;
      ASSERT_EQ(back[i], 7.0f) << i << " of " << count;
    }
  }
}

TEST(HalfLoops, AreThePlainConversions) {
  if (levels().empty()) GTEST_SKIP() << "this CPU has the plain loops only";
  for (const Level& level : levels()) {
    SCOPED_TRACE(level.name);
    expect_all_widened<bfloat16>(level.loops->bfloat16);
    expect_all_widened<float16>(level.loops->float16);
    expect_all_narrowed<bfloat16>(level.loops->bfloat16);
    expect_all_narrowed<float16>(level.loops->float16);
    expect_ends(level.loops->bfloat16);
    expect_ends(level.loops->float16);
  }
}

TEST(HalfLoops, OfThisCpu) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    expect_ends(half_loops(dtype));
    const float x = 1.25f;
    const Tensor half = Tensor::full({1}, 0.0, dtype);
    WideOutput(half).write(0, 1, &x);
    float wide = 0.0f;
    EXPECT_EQ(*WideInput(half).read(0, 1, &wide), x);
    EXPECT_EQ(wide, x);
  }
  const Tensor plain{1.0f, 2.0f};
  EXPECT_EQ(WideInput(plain).read(1, 1, nullptr), plain.raw_as<float>() + 1);
  EXPECT_EQ(WideOutput(plain).place(1, nullptr), plain.raw_as<float>() + 1);
}

}  // namespace
}  // namespace nyala::half_loops_test
