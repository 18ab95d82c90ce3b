#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/strategies/plain_descent.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class ParameterStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static std::shared_ptr<ParameterStore> store_of(int replicas, bool share) {
    std::vector<Device> devices;
    for (int i = 0; i < replicas; ++i) devices.push_back(Device("cpu:" + std::to_string(i)));
    return ParameterStore::make(devices, share);
  }
};

TEST_F(ParameterStoreTest, NeighboursMergeIntoOneSegment) {
  const auto store = store_of(1, true);
  const Variable a = make_variable(*store, "a", {5}, 1), b = make_variable(*store, "b", {16}, 2),
                 c = make_variable(*store, "c", {3, 7}, 3);
  const std::vector<Segment> merged = merged_segments({c, a, b});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].offset, 0);
  EXPECT_EQ(merged[0].count, 16 + 16 + 21);
  const std::vector<Segment> without = merged_segments({a, c});
  ASSERT_EQ(without.size(), 2u);
  EXPECT_EQ(without[0].count, 5);
  EXPECT_EQ(without[1].offset, 32);
}

TEST_F(ParameterStoreTest, GapsBetweenSegmentsAreZeroEverywhere) {
  const auto store = store_of(2, false);
  const Variable a = make_variable(*store, "a", {5}, 1), b = make_variable(*store, "b", {2}, 2);
  const Segment whole = merged_segments({a, b}).at(0);
  std::vector<float> expected(18, 0.0f);
  for (size_t i = 0; i < 5; ++i) expected[i] = 1;
  expected[16] = expected[17] = 2;
  for (int copy = 0; copy < 2; ++copy) {
    EXPECT_EQ(floats(store->weights(copy, DType::float32, whole)), expected);
    EXPECT_EQ(floats(store->gradients(copy, DType::float32, whole)), std::vector<float>(18, 0.0f));
  }
}

TEST_F(ParameterStoreTest, ARecycledSegmentIsCleanWithItsGap) {
  const auto store = store_of(2, false);
  const Variable before = make_variable(*store, "before", {16}, 1);
  auto old = std::make_unique<Variable>(make_variable(*store, "old", {20}, 7));
  const Variable after = make_variable(*store, "after", {16}, 3);
  const Segment place = old->node().segment;
  const int32_t leaf = old->node().leaf;
  for (int replica = 0; replica < 2; ++replica) {
    const Tensor dirty = store->gradients(replica, DType::float32, ArenaLayout::with_gap(place));
    dirty.copy_from(Tensor::full(dirty.shape(), 9, DType::float32));
  }
  old.reset();
  const Variable fresh = make_variable(*store, "fresh", {17}, 5);
  EXPECT_EQ(fresh.node().segment.offset, place.offset);
  EXPECT_EQ(fresh.node().leaf, leaf);
  for (int replica = 0; replica < 2; ++replica) {
    const Segment with_gap = ArenaLayout::with_gap(fresh.node().segment);
    std::vector<float> expected(32, 0.0f);
    EXPECT_EQ(floats(store->gradients(replica, DType::float32, with_gap)), expected);
    std::fill_n(expected.begin(), 17, 5.0f);
    EXPECT_EQ(floats(store->weights(replica, DType::float32, with_gap)), expected);
  }
  EXPECT_EQ(floats(before.value()), std::vector<float>(16, 1));
  EXPECT_EQ(floats(after.value()), std::vector<float>(16, 3));
}

TEST_F(ParameterStoreTest, ReleasedNeighboursMergeForALargerVariable) {
  const auto store = store_of(1, true);
  std::vector<Variable> row;
  for (int i = 0; i < 4; ++i) row.push_back(make_variable(*store, "v", {16}, i));
  const Segment second = row[1].node().segment;
  row.erase(row.begin() + 1, row.begin() + 3);
  const Variable large = make_variable(*store, "large", {32}, 8);
  EXPECT_EQ(large.node().segment.offset, second.offset);
  EXPECT_EQ(floats(row.back().value()), std::vector<float>(16, 3));
}

TEST_F(ParameterStoreTest, AddressesStayWhileTheArenaGrows) {
  const auto store = store_of(1, true);
  const Variable first = make_variable(*store, "first", {100}, 1);
  const void* address = first.value().raw();
  const Variable huge = make_variable(*store, "huge", {1 << 20}, 2);
  EXPECT_NE(huge.node().segment.chunk, first.node().segment.chunk);
  EXPECT_EQ(store->weights(0, DType::float32, first.node().segment).raw(), address);
  EXPECT_EQ(floats(first.value()), std::vector<float>(100, 1));
  EXPECT_EQ(merged_segments({first, huge}).size(), 2u);
}

TEST_F(ParameterStoreTest, ALargeChunkThatIsEmptyIsGivenUpWithItsBytes) {
  const auto store = store_of(2, false);
  const Variable first = make_variable(*store, "first", {100}, 1);
  const size_t before = allocator_stats(Device{}).live_bytes;
  std::optional<Variable> huge = make_variable(*store, "huge", {1 << 22}, 2);
  (void)store->gradient(0, *huge);
  const int32_t given_up = huge->node().segment.chunk;
  huge.reset();
  EXPECT_EQ(allocator_stats(Device{}).live_bytes, before);
  const Variable later = make_variable(*store, "later", {1 << 21}, 3);
  EXPECT_NE(later.node().segment.chunk, given_up);
  EXPECT_EQ(floats(later.value(1)), std::vector<float>(1 << 21, 3));
  EXPECT_EQ(floats(first.value(1)), std::vector<float>(100, 1));
}

TEST_F(ParameterStoreTest, SharedWeightsAreTheSameBytesMirroredOnesAreNot) {
  const auto shared = store_of(3, true), mirrored = store_of(3, false);
  const Variable one = make_variable(*shared, "w", {4}, 1), many = make_variable(*mirrored, "w", {4}, 1);
  EXPECT_EQ(shared->num_weight_copies(), 1);
  EXPECT_EQ(mirrored->num_weight_copies(), 3);
  for (size_t replica = 1; replica < 3; ++replica) {
    EXPECT_EQ(one.value(replica).raw(), one.value(0).raw());
    EXPECT_NE(many.value(replica).raw(), many.value(0).raw());
    EXPECT_EQ(many.value(replica).device(), Device("cpu:" + std::to_string(replica)));
    EXPECT_EQ(one.value(replica).device(), Device("cpu:" + std::to_string(replica)));
    EXPECT_NE(shared->gradient(static_cast<int>(replica), one).raw(), shared->gradient(0, one).raw());
  }
  many.assign(Tensor({1, 2, 3, 4}));
  for (size_t replica = 0; replica < 3; ++replica)
    EXPECT_EQ(floats(many.value(replica)), std::vector<float>({1, 2, 3, 4}));
}

TEST_F(ParameterStoreTest, StateHasACopyPerReplicaEvenWhereWeightsAreShared) {
  const auto store = store_of(2, true);
  VariableSpec spec;
  spec.name = spec.path = "moving_mean";
  spec.shape = {3};
  spec.trainable = false;
  const Variable state = store->create(spec);
  EXPECT_FALSE(state.node().in_arena);
  EXPECT_NE(state.value(0).raw(), state.value(1).raw());
  state.assign(Tensor({1, 2, 3}));
  EXPECT_EQ(floats(state.value(1)), std::vector<float>({1, 2, 3}));
}

TEST_F(ParameterStoreTest, EachDtypeHasItsArena) {
  const auto store = store_of(1, true);
  const Variable single = make_variable(*store, "s", {4}, 1),
                 twice = make_variable(*store, "d", {4}, 2, DType::float64);
  EXPECT_EQ(single.node().segment.offset, 0);
  EXPECT_EQ(twice.node().segment.offset, 0);
  EXPECT_EQ(twice.value().to_vector<double>(), std::vector<double>(4, 2.0));
  EXPECT_EQ(floats(single.value()), std::vector<float>(4, 1));
}

TEST_F(ParameterStoreTest, AssignNamesTheVariableAndChangesNothing) {
  const auto store = store_of(1, true);
  const Variable kernel = make_variable(*store, "dense/kernel", {2, 2}, 1);
  try {
    kernel.assign(Tensor({1, 2, 3}));
    FAIL() << "a wrong shape was taken";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("dense/kernel"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("(2, 2)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("(3,)"), std::string::npos) << error.what();
  }
  EXPECT_EQ(floats(kernel.value()), std::vector<float>(4, 1));
}

TEST_F(ParameterStoreTest, AVariableMayOutliveItsStore) {
  Variable survivor;
  {
    const auto store = store_of(1, true);
    survivor = make_variable(*store, "w", {3}, 4);
  }
  EXPECT_EQ(floats(survivor.value()), std::vector<float>(3, 4));
}

TEST_F(ParameterStoreTest, ThreadsMakeUseAndReleaseVariablesAtOnce) {
  const auto store = store_of(2, false);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 60; ++round) {
        const double value = 100 * t + round;
        const Variable a = make_variable(*store, "a", {17 + 4000 * t}, value),
                       b = make_variable(*store, "b", {3}, value);
        const Tensor gradient = store->gradient(1, a);
        gradient.copy_from(Tensor::full(gradient.shape(), -value, DType::float32));
        for (size_t copy = 0; copy < 2; ++copy)
          for (float v : floats(a.value(copy))) wrong += v != static_cast<float>(value);
        for (float v : floats(b.value(1))) wrong += v != static_cast<float>(value);
        for (float v : floats(gradient)) wrong += v != static_cast<float>(-value);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace

}  // namespace nyala
