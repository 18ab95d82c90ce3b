#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/generator.h>
#include <nyala/strategies/seed_generator.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

namespace {

class Generators : public OnStrategies {
 protected:
  /// What each replica draws next.
  static std::vector<std::vector<float>> draws(const Strategy& strategy, const Generator& generator) {
    std::vector<std::vector<float>> out;
    for (const Tensor& value : strategy.run([&](ReplicaContext& replica) {
           const Tensor drawn = generator.normal({4});
           EXPECT_EQ(drawn.device(), replica.device);
           return drawn;
         }))
      out.push_back(numbers(value));
    return out;
  }
};

TEST_P(Generators, StreamsDifferAndRepeat) {
  const Strategy under_test = strategy();
  const auto make = [&] { return under_test.scope([] { return Generator::from_seed(7); }); };
  const Generator generator = make();
  const auto first = draws(under_test, generator), second = draws(under_test, generator);
  std::set<std::vector<float>> all(first.begin(), first.end());
  all.insert(second.begin(), second.end());
  EXPECT_EQ(all.size(), 2 * static_cast<size_t>(replicas()));
  const Generator again = make();
  EXPECT_EQ(draws(under_test, again), first);
  EXPECT_EQ(draws(under_test, again), second);
}

TEST_P(Generators, StreamsDoNotDependOnTheNumberOfReplicas) {
  const Strategy under_test = strategy();
  const MirroredStrategy four({.devices = device_names("cpu", 4)});
  const auto all = draws(four, four.scope([] { return Generator::from_seed(7); }));
  const auto own = draws(under_test, under_test.scope([] { return Generator::from_seed(7); }));
  for (size_t id = 0; id < own.size(); ++id)
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(own[id][i], all[id][i], 1e-6);
}

TEST_P(Generators, StatesGoToOtherNumbersOfReplicas) {
  const Strategy under_test = strategy();
  const Generator generator = under_test.scope([] { return Generator::from_seed(3); });
  draws(under_test, generator);
  const Tensor state = generator.state();
  EXPECT_EQ(state.shape(), Shape({replicas(), 2}));
  const auto expected = draws(under_test, generator);
  const MirroredStrategy three({.devices = device_names("cpu", 3)});
  const Generator restored = three.scope([&] { return Generator::from_state(state); });
  const auto received = draws(three, restored);
  for (size_t id = 0; id < std::min<size_t>(3, expected.size()); ++id)
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(received[id][i], expected[id][i], 1e-6);
}

TEST_P(Generators, OutsideOfRunAllStreamsGoOn) {
  const Strategy under_test = strategy();
  const Generator drawn = under_test.scope([] { return Generator::from_seed(5); });
  const Generator skipped = under_test.scope([] { return Generator::from_seed(5); });
  drawn.uniform({2});
  skipped.skip(1);
  EXPECT_EQ(draws(under_test, drawn), draws(under_test, skipped));
  drawn.reset_from_seed(5);
  drawn.skip(2);
  EXPECT_EQ(drawn.state().to_vector<int64_t>(), skipped.state().to_vector<int64_t>());
}

TEST_P(Generators, OneMadeOutsideIsShared) {
  const Strategy under_test = strategy();
  const Generator generator = Generator::from_seed(9);
  auto drawn = draws(under_test, generator);
  EXPECT_EQ(generator.state().to_vector<int64_t>(), std::vector<int64_t>({9, replicas()}));
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), static_cast<size_t>(replicas()));
}

TEST_P(Generators, SeedsAreTheSameOnAllReplicas) {
  const Strategy under_test = strategy();
  const SeedGenerator seeds = under_test.scope([] { return SeedGenerator(42); });
  for (int64_t counter = 0; counter < 3; ++counter)
    for (const Tensor& seed : under_test.run([&] { return seeds.next(); }))
      EXPECT_EQ(seed.to_vector<int64_t>(), std::vector<int64_t>({42, counter}));
  EXPECT_EQ(seeds.next().to_vector<int64_t>(), std::vector<int64_t>({42, 3}));
  const auto keys = under_test.run([&] { return seeds.next_key(); });
  for (const uint64_t key : keys) EXPECT_EQ(key, keys[0]);
  EXPECT_NE(seeds.next_key(), keys[0]);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Generators, ::testing::ValuesIn(strategy_kinds()), kind_name);

TEST(Generator, NumbersAreThoseOfTheDistribution) {
  const Generator generator = Generator::from_seed(1);
  double sum = 0, squares = 0;
  for (const float value : numbers(generator.normal({20000}, 2.0, 3.0))) {
    sum += value;
    squares += (value - 2.0) * (value - 2.0);
  }
  EXPECT_NEAR(sum / 20000, 2.0, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 20000), 3.0, 0.1);
  for (const float value : numbers(generator.truncated_normal({2000}))) EXPECT_LE(std::abs(value), 2.0f);
  for (const float value : numbers(generator.uniform({2000}, 3, 5))) EXPECT_TRUE(value >= 3 && value < 5);
}

TEST(Generator, SplitsIntoUnrelatedOnes) {
  const Generator generator = Generator::from_seed(1);
  const auto parts = generator.split(3);
  std::set<std::vector<float>> all{numbers(generator.normal({3}))};
  for (const Generator& part : parts) all.insert(numbers(part.normal({3})));
  EXPECT_EQ(all.size(), 4u);
  EXPECT_THROW(generator.split(-1), InvalidArgumentError);
}

TEST(Generator, RefusesBadStates) {
  const Generator generator = Generator::from_seed(1);
  EXPECT_THROW(generator.reset(Tensor({1, 2})), InvalidArgumentError);
  EXPECT_THROW(generator.reset(Tensor::from(std::vector<int64_t>{1, 2})), InvalidArgumentError);
  EXPECT_THROW(generator.skip(-1), InvalidArgumentError);
}

TEST(Generator, WithoutASeedItFollowsTheGlobalOne) {
  set_random_seed(11);
  const std::vector<float> first = numbers(Generator().normal({3})),
                           second = numbers(Generator().normal({3}));
  set_random_seed(11);
  EXPECT_EQ(numbers(Generator().normal({3})), first);
  EXPECT_EQ(numbers(Generator().normal({3})), second);
  EXPECT_NE(first, second);
}

TEST(SeedGenerator, RefusesNegativeSeeds) { EXPECT_THROW(SeedGenerator(-1), InvalidArgumentError); }

}  // namespace

}  // namespace nyala
