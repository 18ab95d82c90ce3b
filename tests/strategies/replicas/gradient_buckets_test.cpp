#include <cmath>
#include <future>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/local_communicators.h>
#include <nyala/strategies/communicators/process_link.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replicas/row_exchange.h>
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

/// Every op reduces buckets of separate storage to all replicas.
TEST_F(GradientBucketsTest, BucketsAreReducedByTheGivenOp) {
  const std::vector<std::shared_ptr<const CrossDeviceOps>> list{
      std::make_shared<DirectAllReduce>(), std::make_shared<RingAllReduce>(),
      std::make_shared<HierarchicalCopyAllReduce>(), std::make_shared<ReductionToOneDevice>()};
  for (const auto& ops : list) {
    const auto store = two_replicas();
    const Variable a = make_variable(*store, "a", {5}, 0), b = make_variable(*store, "b", {7}, 0);
    PlainDescent rule({a, b}, 1.0);
    GradientBuckets buckets(*store, 1, ops);
    EXPECT_EQ(buckets.ops().name(), ops->name());
    buckets.begin(rule, true, false);
    for (const Variable& variable : {b, a})
      for (int replica : {0, 1}) give(buckets, replica, variable, replica == 0 ? 1.0f : 2.0f);
    for (int replica : {0, 1}) {
      EXPECT_EQ(floats(store->gradient(replica, a)), std::vector<float>(5, 3)) << ops->name();
      EXPECT_EQ(floats(store->gradient(replica, b)), std::vector<float>(7, 3)) << ops->name();
    }
  }
}

TEST_F(GradientBucketsTest, AnOpThatDoesNotWorkAmongTheDevicesIsRefused) {
  const auto store = two_replicas();
  EXPECT_THROW(GradientBuckets(*store, 1, std::make_shared<NcclAllReduce>()), InvalidArgumentError);
}

/// Gradients of a table that come as rows.
class RowGradientsTest : public GradientBucketsTest {
 protected:
  static constexpr int64_t kTable = 40, kWidth = 3;

  /// take(table, indices) * (1, 2, 3, ...) summed, backward; no indices: the table is not used.
  static void step(GradientBuckets& buckets, int replica, const Variable& table,
                   const std::vector<int32_t>& indices, bool twice = false, int weight = 0) {
    Tape tape;
    const Tensor value = tape.watch(table.value(static_cast<size_t>(replica)), table.node().leaf);
    const auto weighted = [&](double factor) {
      std::vector<float> weights;
      for (size_t i = 0; i < indices.size() * kWidth; ++i)
        weights.push_back(static_cast<float>(i + 1) * static_cast<float>(factor));
      const int64_t count = static_cast<int64_t>(indices.size());
      const Tensor rows = ops::take(value, Tensor::from(indices, {count, 1}, value.device()), 0);
      return ops::sum(rows * Tensor::from(weights, {count, 1, kWidth}, value.device()));
    };
    if (!indices.empty()) {
      const Tensor loss = twice ? weighted(1) + weighted(2) : weighted(weight > 0 ? weight : replica + 1);
      backward(tape, loss, buckets.sink(replica));
    }
    buckets.finish(replica);
  }

  static std::vector<float> expected(const std::vector<std::vector<int32_t>>& indices) {
    std::vector<float> sum(kTable * kWidth, 0);
    for (size_t replica = 0; replica < indices.size(); ++replica)
      for (size_t i = 0; i < indices[replica].size(); ++i)
        for (size_t j = 0; j < kWidth; ++j) {
          const int64_t row = (indices[replica][i] + kTable) % kTable;
          sum[static_cast<size_t>(row) * kWidth + j] +=
              static_cast<float>(i * kWidth + j + 1) * static_cast<float>(replica + 1);
        }
    return sum;
  }

  /// Two steps that teach and use the transport, with other rows in each.
  static void check(const std::shared_ptr<ParameterStore>& store, int copies) {
    const Variable table = make_variable(*store, "table", {kTable, kWidth}, 0);
    const Variable other = make_variable(*store, "other", {4}, 0);
    PlainDescent rule({table, other}, 1.0);
    GradientBuckets buckets(*store, 1000);
    const std::vector<std::vector<std::vector<int32_t>>> steps{
        {{1, 5, 1}, {39, -1}}, {{2, 2, 2}, {2, 7, 0, 3}}, {{}, {4}}, {{}, {}}};
    for (size_t i = 0; i < steps.size(); ++i) {
      buckets.begin(rule, true, false);
      EXPECT_EQ(buckets.num_buckets(), i == 0 ? 1u : 2u) << "the table has a bucket of its own by now";
      for (int replica : {1, 0}) step(buckets, replica, table, steps[i][static_cast<size_t>(replica)]);
      for (int copy = 0; copy < copies; ++copy)
        EXPECT_EQ(floats(store->gradient(store->sum_place(copy), table)), expected(steps[i]))
            << "step " << i << ", copy " << copy;
      EXPECT_EQ(floats(store->gradient(store->sum_place(0), other)), std::vector<float>(4, 0));
    }
  }
};

TEST_F(RowGradientsTest, RowsAreSummedOverReplicasAndDuplicates) {
  check(two_replicas(false), 2);
  check(two_replicas(true), 1);
  check(ParameterStore::make_central({Device("cpu:0"), Device("cpu:1")}, Device("cpu:3")), 1);
  enable_ghost_device();
  check(ParameterStore::make({Device("ghost:0"), Device("ghost:1")}, false), 2);
  check(ParameterStore::make_central({Device("ghost:0"), Device("ghost:1")}, Device("cpu:0")), 1);
}

TEST_F(RowGradientsTest, TheyGoBackToDenseWhereAReplicaCannotSendRows) {
  const auto store = two_replicas();
  const Variable table = make_variable(*store, "table", {kTable, kWidth}, 0);
  PlainDescent rule({table}, 1.0);
  GradientBuckets buckets(*store, 1);
  const auto run = [&](const std::vector<int32_t>& first, const std::vector<int32_t>& second, bool twice) {
    buckets.begin(rule, true, false);
    step(buckets, 0, table, first);
    step(buckets, 1, table, second, twice);
    return floats(store->gradient(1, table));
  };
  run({1}, {2}, false);
  EXPECT_EQ(run({1, 3}, {2}, false), expected({{1, 3}, {2}}));
  std::vector<int32_t> many(30, 5);  // with the other replica's more than the table has
  EXPECT_EQ(run({1, 3}, many, false), expected({{1, 3}, many}));
  EXPECT_EQ(run({}, many, false), expected({{}, many}));
  // Used twice: backward sums before it reports. Factors 1 + 2 instead of replica 1's 2.
  std::vector<float> twice = expected({{}, {6, 6}});
  for (float& value : twice) value *= 1.5f;
  EXPECT_EQ(run({}, {6, 6}, true), twice);
  EXPECT_EQ(run({8}, {9}, false), expected({{8}, {9}}));
}

TEST_F(RowGradientsTest, GatheringStepsStayDense) {
  const auto store = two_replicas();
  const Variable table = make_variable(*store, "table", {kTable, kWidth}, 0);
  PlainDescent rule({table}, 1.0);
  GradientBuckets buckets(*store, 1);
  buckets.begin(rule, true, false);
  for (int replica : {0, 1}) step(buckets, replica, table, {1});
  for (int micro = 0; micro < 3; ++micro) {
    buckets.begin(rule, micro == 2, micro > 0);
    step(buckets, 0, table, micro == 1 ? std::vector<int32_t>() : std::vector<int32_t>{1});
    step(buckets, 1, table, {2});
  }
  std::vector<float> sum = expected({{1}, {2}});
  for (size_t j = 0; j < kWidth; ++j) {
    sum[kWidth + j] *= 2;
    sum[2 * kWidth + j] *= 3;
  }
  for (int replica : {0, 1}) EXPECT_EQ(floats(store->gradient(replica, table)), sum);
}

/// Threads pose as processes of `replicas` replicas each; body(rank, store, table, buckets, rule).
class RowsOverProcessesTest : public RowGradientsTest {
 protected:
  template <class Body>
  static void as_processes(int processes, int replicas, const Body& body) {
    configure_logical_devices("cpu", processes * replicas);
    const auto steps = local_communicators({.size = processes, .name = "steps", .timeout = kTimeout});
    const auto gradients = local_communicators({.size = processes, .name = "gradients", .timeout = kTimeout});
    std::vector<std::future<void>> ends;
    for (int rank = 0; rank < processes; ++rank)
      ends.push_back(std::async(std::launch::async, [&, rank] {
        std::vector<Device> devices;
        for (int i = 0; i < replicas; ++i) devices.emplace_back(DeviceKind::cpu, rank * replicas + i);
        const auto store = ParameterStore::make(devices, rank == 1);
        const Variable table = make_variable(*store, "table", {kTable, kWidth}, 0);
        const Variable other = make_variable(*store, "other", {4}, 0);
        PlainDescent rule({table, other}, 1.0);
        GradientBuckets buckets(*store, 1000);
        buckets.least_table_bytes = 0;
        const auto at = static_cast<size_t>(rank);
        buckets.set_exchange(std::make_shared<ProcessLink>(steps[at], replicas), gradients[at]);
        body(rank, *store, table, buckets, rule);
      }));
    for (std::future<void>& end : ends) end.get();
    configure_logical_devices("cpu", 4);
  }

  static constexpr std::chrono::seconds kTimeout{20};
};

/// Of each replica of all, in steps; the first one is dense, and in the last two somebody cannot send rows,
/// or all have too many.
TEST_F(RowsOverProcessesTest, AreThoseOfAsManyReplicasInOneProcess) {
  const std::vector<int32_t> many(30, 5);
  using Indices = std::vector<std::vector<int32_t>>;
  const std::vector<Indices> of_two{{{1, 5, 1}, {39, -1}}, {{2, 2, 2}, {2, 7}}, {{}, {4}}, {{}, {}},
                                    {{8, 9}, many},        {{1}, {2}}};
  std::vector<Indices> of_four;
  for (const Indices& step : of_two) of_four.push_back({step[0], {3}, step[1], {3, 7}});
  const std::vector<int64_t> rows_of_two{3, 1, 0, -1, 2}, rows_of_four{5, 4, 3, -1, 5};
  for (const int replicas : {1, 2}) {
    const std::vector<Indices>& steps = replicas == 1 ? of_two : of_four;
    as_processes(2, replicas,
                 [&](int rank, ParameterStore& store, const Variable& table, GradientBuckets& buckets,
                     PlainDescent& rule) {
                   std::vector<int64_t> sent;
                   buckets.on_rows = [&](int, int64_t rows) { sent.back() = rows; };
                   for (size_t i = 0; i < steps.size(); ++i) {
                     sent.push_back(-1);
                     buckets.begin(rule, true, false);
                     EXPECT_EQ(buckets.num_buckets(), i == 0 ? 1u : 2u)
                         << "the table has a bucket of its own by now";
                     for (int replica = replicas; replica-- > 0;) {
                       const int id = rank * replicas + replica;
                       step(buckets, replica, table, steps[i][static_cast<size_t>(id)], false, id + 1);
                     }
                     buckets.drain();
                     for (int copy = 0; copy < store.num_weight_copies(); ++copy)
                       EXPECT_EQ(floats(store.gradient(copy, table)), expected(steps[i]))
                           << "step " << i << " " << rank;
                   }
                   std::vector<int64_t> wanted = replicas == 1 ? rows_of_two : rows_of_four;
                   wanted.insert(wanted.begin(), -1);
                   EXPECT_EQ(sent, wanted) << "rank " << rank;
                 });
  }
}

/// Rounding, too, is that of the dense sum: a training that begins again with a dense step goes on with its
/// bits.
TEST_F(RowsOverProcessesTest, MergedRowsAreTheBitsOfTheDenseSum) {
  std::vector<float> values;
  for (int i = 0; i < 3 * 60 * kWidth; ++i) values.push_back(std::sin(7.3f * static_cast<float>(i)));
  const Tensor draws = Tensor::from(values, {3, 60, kWidth});
  std::vector<GradientRows> parts;
  Tensor dense;
  for (int64_t part = 0; part < 3; ++part) {
    std::vector<int32_t> indices;
    for (int i = 0; i < 60; ++i) indices.push_back((i * i + static_cast<int>(part)) % 9 - 3);
    parts.push_back({Tensor::from(indices, {60}), draws.rows(part, 1).with_shape({60, kWidth})});
    const Tensor whole = nyala::dispatch(ops::kTakeBackward, ops::ScatterAddDescriptor{0, kTable},
                                         {&parts.back().values, &parts.back().indices});
    dense = dense.defined() ? dense + whole : whole;
  }
  const GradientRows merged = merged_rows(parts, {kTable, kWidth}, DType::float32);
  EXPECT_LE(merged.indices.num_elements(), 9);
  EXPECT_EQ(floats(nyala::dispatch(ops::kTakeBackward, ops::ScatterAddDescriptor{0, kTable},
                                   {&merged.values, &merged.indices})),
            floats(dense));
  const Tensor bad = Tensor::from(std::vector<int64_t>{kTable, 1, -kTable - 1}, {3});
  const GradientRows valid = merged_rows({{bad, draws.rows(0, 1).with_shape({60, kWidth}).rows(0, 3)}},
                                         {kTable, kWidth}, DType::float32);
  EXPECT_EQ(valid.indices.to_vector<int64_t>(), (std::vector<int64_t>{1}));
}

/// 257 has more digits than bfloat16. The table is not known in the first step.
TEST_F(RowsOverProcessesTest, RowsTravelInFloat32) {
  as_processes(
      2, 1,
      [&](int, ParameterStore& store, const Variable& table, GradientBuckets& buckets, PlainDescent& rule) {
        buckets.wire_dtype = DType::bfloat16;
        for (const float expected : {512.f, 514.f}) {
          buckets.begin(rule, true, false);
          step(buckets, 0, table, {1}, false, 257);
          buckets.drain();
          EXPECT_EQ(floats(store.gradient(0, table))[kWidth], expected);
        }
      });
}

/// Of one process its batch is too large, or it has none; it takes part all the same.
TEST_F(RowsOverProcessesTest, WhatOneHasSeenAllLearn) {
  as_processes(2, 1,
               [&](int rank, ParameterStore& store, const Variable& table, GradientBuckets& buckets,
                   PlainDescent& rule) {
                 for (const bool is_first : {true, false}) {
                   const std::vector<std::vector<int32_t>> indices{
                       {1, 2}, is_first ? std::vector<int32_t>() : std::vector{2}};
                   int64_t sent = -1;
                   buckets.on_rows = [&](int, int64_t rows) { sent = rows; };
                   buckets.begin(rule, true, false);
                   EXPECT_EQ(buckets.num_buckets(), is_first ? 1u : 2u);
                   step(buckets, 0, table, indices[static_cast<size_t>(rank)], false, rank + 1);
                   buckets.drain();
                   EXPECT_EQ(sent, is_first ? -1 : 3);
                   EXPECT_EQ(floats(store.gradient(0, table)), expected(indices));
                 }
               });
}

}  // namespace

}  // namespace nyala
