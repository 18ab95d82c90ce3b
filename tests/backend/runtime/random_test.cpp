#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/random.h>
#include <nyala/backend/runtime/seeded_key.h>

namespace nyala {

using namespace nyala::detail;

namespace {

uint64_t key_of(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

/// The known answers of philox4x32 with 10 rounds that come with Random123.
TEST(PhiloxTest, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key_of(0xffffffff, 0xffffffff)),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key_of(0xa4093822, 0x299f31d0)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, UniformsLieInTheHalfOpenInterval) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_LT(uniform_float(0xffffffff), 1.0f);
  EXPECT_LT(uniform_double(0xffffffff, 0xffffffff), 1.0);
  EXPECT_EQ(uniform_double(0x80000000, 0), 0.5);
}

TEST(RandomTest, AGeneratorRepeatsItself) {
  DrawStream a(5), b(5), c(6);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint32_t word = a.next();
    EXPECT_EQ(word, b.next());
    differs = differs || word != c.next();
  }
  EXPECT_TRUE(differs);
}

struct Moments {
  double mean = 0, variance = 0, largest = 0;
};

template <class Draw>
Moments moments_of(Draw&& draw) {
  constexpr int kCount = 200'000;
  Moments m;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = draw();
    m.mean += x / kCount;
    squares += x * x / kCount;
    m.largest = std::max(m.largest, std::abs(x));
  }
  m.variance = squares - m.mean * m.mean;
  return m;
}

TEST(RandomTest, DistributionsHaveTheirMoments) {
  DrawStream generator(1);
  const Moments uniform = moments_of([&] { return generator.uniform(-1, 3); });
  EXPECT_NEAR(uniform.mean, 1.0, 0.015);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.015);
  const Moments normal = moments_of([&] { return generator.normal(); });
  EXPECT_NEAR(normal.mean, 0.0, 0.01);
  EXPECT_NEAR(normal.variance, 1.0, 0.015);
  EXPECT_GT(normal.largest, 3.5);
  const Moments cut = moments_of([&] { return generator.truncated_normal(); });
  EXPECT_NEAR(cut.variance, 0.87962566103423978 * 0.87962566103423978, 0.01);
  EXPECT_LE(cut.largest, 2.0);
}

TEST(RandomTest, BelowIsEvenAndInRange) {
  DrawStream generator(2);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[generator.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(generator.below(1), 0u);
  EXPECT_LT(generator.below(~uint64_t{0}), ~uint64_t{0});
}

TEST(RandomTest, KeysOfDifferentThingsDiffer) {
  std::set<uint64_t> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.insert(mix_key(7, i));
  keys.insert(mix_key(7, "kernel"));
  keys.insert(mix_key(7, "bias"));
  EXPECT_EQ(keys.size(), 1002u);
}

TEST(RandomTest, TheSeedStartsUnseededDrawsAfresh) {
  set_random_seed(42);
  const uint64_t first = next_unseeded_key(), second = next_unseeded_key();
  EXPECT_NE(first, second);
  set_random_seed(42);
  EXPECT_EQ(next_unseeded_key(), first);
  EXPECT_EQ(global_seed(), 42u);
  set_random_seed(43);
  EXPECT_NE(next_unseeded_key(), first);
}

TEST(SeededKey, IsThatOfItsSeedElseOfTheProgramsWhenItWasMade) {
  EXPECT_EQ(SeededKey(7).value(), 7u);
  set_random_seed(3);
  const SeededKey first({}), second({});
  const uint64_t number = first.value();
  EXPECT_NE(number, second.value());
  set_random_seed(4);
  EXPECT_EQ(first.value(), number);
  EXPECT_NE(SeededKey({}).value(), number);
  set_random_seed(3);
  EXPECT_EQ(SeededKey({}).value(), number);
}

}  // namespace

}  // namespace nyala
