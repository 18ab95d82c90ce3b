#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/ops/dense.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/in_process.h>
#include <nyala/tests/strategies/plain_descent.h>

namespace nyala {

namespace {

std::shared_ptr<ParameterStore> two_replicas(bool share = false) {
  return ParameterStore::make({Device("cpu:0"), Device("cpu:1")}, share);
}

class GradientBucketsTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  /// What backward() does with a leaf.
  static void give(GradientBuckets& buckets, int replica, const Variable& variable, float value) {
    GradientSink& sink = buckets.sink(replica);
    Tensor place = sink.destination(variable.node().leaf);
    if (!place.defined()) place = Tensor::empty(variable.shape());
    place.copy_from(Tensor::full(variable.shape(), value, DType::float32));
    sink.ready(variable.node().leaf, place);
  }
};

TEST_F(GradientBucketsTest, BucketsAreCutFromTheEndOfTheArena) {
  const auto store = two_replicas();
  Variables variables;
  for (int i = 0; i < 6; ++i) variables.push_back(make_variable(*store, "v", {10}, 0));
  PlainDescent rule(variables, 1.0);
  for (const auto& [elements, expected] :
       {std::pair<int64_t, size_t>{1, 6}, {20, 3}, {25, 2}, {60, 1}, {1000, 1}}) {
    GradientBuckets buckets(*store, elements);
    std::vector<int> order;
    buckets.on_reduce = [&order](int bucket) { order.push_back(bucket); };
    buckets.begin(rule, true, false);
    EXPECT_EQ(buckets.num_buckets(), expected) << elements;
    for (size_t i = variables.size(); i-- > 0;)
      for (int replica : {1, 0}) give(buckets, replica, variables[i], 1.0f);
    std::vector<int> ascending(expected);
    for (size_t i = 0; i < expected; ++i) ascending[i] = static_cast<int>(i);
    EXPECT_EQ(order, ascending) << elements;
  }
}

TEST_F(GradientBucketsTest, ABucketIsReducedWhenItsLastGradientComes) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {4}, 0), b = make_variable(*store, "b", {4}, 0);
  PlainDescent rule({a, b}, 1.0);
  GradientBuckets buckets(*store, 8);
  int reduced = 0;
  buckets.on_reduce = [&reduced](int) { ++reduced; };
  buckets.begin(rule, true, false);
  give(buckets, 0, a, 1);
  give(buckets, 1, b, 20);
  give(buckets, 1, a, 2);
  EXPECT_EQ(reduced, 0);
  give(buckets, 0, b, 10);
  EXPECT_EQ(reduced, 1);
  for (int replica = 0; replica < 2; ++replica) {
    EXPECT_EQ(floats(store->gradient(replica, a)), std::vector<float>(4, 3));
    EXPECT_EQ(floats(store->gradient(replica, b)), std::vector<float>(4, 30));
  }
}

TEST_F(GradientBucketsTest, SharedWeightsNeedTheSumOnlyOnce) {
  const auto store = two_replicas(true);
  const Variable a = make_variable(*store, "a", {4}, 0);
  PlainDescent rule({a}, 1.0);
  GradientBuckets buckets(*store, 8);
  buckets.begin(rule, true, false);
  give(buckets, 0, a, 1);
  give(buckets, 1, a, 2);
  EXPECT_EQ(floats(store->gradient(0, a)), std::vector<float>(4, 3));
}

TEST_F(GradientBucketsTest, UnusedVariablesGetZeros) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {4}, 0), b = make_variable(*store, "b", {4}, 0);
  PlainDescent rule({a, b}, 1.0);
  GradientBuckets buckets(*store, 8);
  for (float round : {1.0f, 2.0f}) {  // the second round finds old numbers in the arena
    buckets.begin(rule, true, false);
    give(buckets, 0, a, round);
    if (round == 1.0f) give(buckets, 0, b, 5);
    buckets.finish(0);
    buckets.finish(1);
    EXPECT_EQ(floats(store->gradient(1, a)), std::vector<float>(4, round));
    EXPECT_EQ(floats(store->gradient(1, b)), std::vector<float>(4, round == 1.0f ? 5.0f : 0.0f));
  }
}

TEST_F(GradientBucketsTest, GatheringAddsAndReducesOnlyAtTheEnd) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {4}, 0), b = make_variable(*store, "b", {4}, 0);
  PlainDescent rule({a, b}, 1.0);
  GradientBuckets buckets(*store, 8);
  int reduced = 0;
  buckets.on_reduce = [&reduced](int) { ++reduced; };
  for (int step = 0; step < 3; ++step) {
    buckets.begin(rule, step == 2, step > 0);
    for (int replica : {0, 1}) {
      give(buckets, replica, a, replica == 0 ? 1.0f : 100.0f);
      buckets.finish(replica);  // b is never used
    }
    EXPECT_EQ(reduced, step == 2 ? 1 : 0);
  }
  for (int replica : {0, 1}) {
    EXPECT_EQ(floats(store->gradient(replica, a)), std::vector<float>(4, 303));
    EXPECT_EQ(floats(store->gradient(replica, b)), std::vector<float>(4, 0));
  }
}

TEST_F(GradientBucketsTest, LeavesOfOthersAreLeftAlone) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {4}, 0), frozen = make_variable(*store, "frozen", {4}, 0);
  PlainDescent rule({a}, 1.0);
  GradientBuckets buckets(*store, 8);
  buckets.begin(rule, true, false);
  EXPECT_FALSE(buckets.sink(0).destination(frozen.node().leaf).defined());
  buckets.sink(0).ready(frozen.node().leaf, Tensor::full({4}, 9));
  EXPECT_EQ(floats(store->gradient(0, frozen)), std::vector<float>(4, 0));
}

TEST_F(GradientBucketsTest, AnotherRuleRearms) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {4}, 0);
  PlainDescent first({a}, 1.0);
  GradientBuckets buckets(*store, 1);
  buckets.begin(first, true, false);
  EXPECT_EQ(buckets.num_buckets(), 1u);
  const Variable b = make_variable(*store, "b", {4}, 0), c = make_variable(*store, "c", {4}, 0);
  PlainDescent second({c, a, b}, 1.0);
  buckets.begin(second, true, false);
  EXPECT_EQ(buckets.num_buckets(), 3u);
  for (const Variable& variable : second.variables())
    for (int replica : {0, 1}) give(buckets, replica, variable, 2);
  EXPECT_EQ(floats(store->gradient(1, c)), std::vector<float>(4, 4));
}

TEST_F(GradientBucketsTest, AFrozenVariableInTheMiddleSplitsABucket) {
  const auto store = two_replicas();
  const Variable a = make_variable(*store, "a", {16}, 0), frozen = make_variable(*store, "frozen", {16}, 0),
                 b = make_variable(*store, "b", {16}, 0);
  store->gradient(0, frozen).copy_from(Tensor::full({16}, 7));
  PlainDescent rule({a, b}, 1.0);
  GradientBuckets buckets(*store, 1000);
  buckets.begin(rule, true, false);
  EXPECT_EQ(buckets.num_buckets(), 2u);
  for (int replica : {0, 1}) {
    give(buckets, replica, a, 1);
    give(buckets, replica, b, 2);
  }
  EXPECT_EQ(floats(store->gradient(1, a)), std::vector<float>(16, 2));
  EXPECT_EQ(floats(store->gradient(1, b)), std::vector<float>(16, 4));
  EXPECT_EQ(floats(store->gradient(0, frozen)), std::vector<float>(16, 7));
}

/// Writes down when leaves become final.
class TracingSink final : public GradientSink {
 public:
  TracingSink(GradientSink& inner, std::function<void(int32_t)> on_ready)
      : inner_(inner), on_ready_(std::move(on_ready)) {}
  Tensor destination(int32_t leaf) override { return inner_.destination(leaf); }
  void ready(int32_t leaf, const Tensor& gradient) override {
    on_ready_(leaf);
    inner_.ready(leaf, gradient);
  }

 private:
  GradientSink& inner_;
  std::function<void(int32_t)> on_ready_;
};

/// The overlap that the buckets are for: the first reduction begins before the last gradient of backward is
/// computed.
TEST_F(GradientBucketsTest, TheFirstReductionBeginsBeforeTheLastBackwardOp) {
  InProcessStrategy strategy({.name = "test",
                              .devices = {"cpu:0", "cpu:1", "cpu:2"},
                              .share_weights = false,
                              .bucket_elements = 64});
  Variables weights;
  for (int i = 0; i < 5; ++i)
    weights.push_back(make_variable(strategy.store(), "w" + std::to_string(i), {8, 8}, 0.1));
  PlainDescent rule(weights, 0.1);
  std::mutex mutex;
  std::vector<std::string> events;
  const auto note = [&](const std::string& event) {
    std::lock_guard lock(mutex);
    events.push_back(event);
  };
  strategy.buckets().on_reduce = [&](int bucket) { note("reduce " + std::to_string(bucket)); };
  strategy.run(
      [&](Replica& replica) {
        Tensor x = Tensor::full({2, 8}, 1.0, DType::float32, replica.device);
        for (const Variable& weight : weights)
          x = ops::dense(
              x, replica.tape->watch(weight.value(static_cast<size_t>(replica.id)), weight.node().leaf), {});
        TracingSink sink(*replica.gradients, [&](int32_t leaf) { note("final " + std::to_string(leaf)); });
        backward(*replica.tape, ops::sum(x), sink);
      },
      &rule);
  strategy.update(rule);
  const auto position = [&](const std::string& event) {
    return std::find(events.begin(), events.end(), event) - events.begin();
  };
  ASSERT_EQ(events.size(), 3u * 5u + 5u);
  const std::string last_op = "final " + std::to_string(weights[0].node().leaf);
  EXPECT_LT(position("reduce 0"), position("reduce 4"));
  const auto last = std::find(events.rbegin(), events.rend(), last_op);
  EXPECT_LT(position("reduce 0"), events.rend() - last - 1);
  for (int bucket = 0; bucket < 5; ++bucket) {
    const std::string leaf = "final " + std::to_string(weights[static_cast<size_t>(4 - bucket)].node().leaf);
    const auto reduce = events.begin() + position("reduce " + std::to_string(bucket));
    EXPECT_EQ(std::count(events.begin(), reduce, leaf), 3)
        << "bucket " << bucket << " before all gradients were final";
  }
}

}  // namespace

}  // namespace nyala
