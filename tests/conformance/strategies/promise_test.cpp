// The promise: any strategy with any number of replicas gives the numbers of one device.
#include <cctype>
#include <cstdio>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::promise_test {

namespace {

/// Replicas, where their weights lie, and how they are brought together.
struct Placement {
  std::string name;
  int replicas = 1;
  std::function<Strategy()> make;
};

constexpr int64_t kBucketElements = 64;  // several buckets even in small models

std::vector<std::string> devices_named(const std::string& kind, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(kind + ":" + std::to_string(i));
  return names;
}

Placement mirrored(const std::string& name, MirroredStrategyConfig config) {
  config.bucket_elements = kBucketElements;
  return {name, static_cast<int>(config.devices.size()), [config] { return MirroredStrategy(config); }};
}

Placement central(const std::string& name, CentralStorageStrategyConfig config) {
  config.bucket_elements = kBucketElements;
  return {name, static_cast<int>(config.compute_devices.size()),
          [config] { return CentralStorageStrategy(config); }};
}

std::vector<Placement> cpu_placements() {
  std::vector<Placement> placements;
  for (int count : {1, 2, 3, 4, 7})
    for (bool shared : {true, false})
      placements.push_back(
          mirrored(std::to_string(count) + (shared ? " shared" : " separate"),
                   {.devices = devices_named("cpu", count),
                    .shared_weights = shared ? SharedWeights::automatic : SharedWeights::never}));
  return placements;
}

/// Separate storage, so that every replica needs the result of the op; weights for unequal devices; one copy.
std::vector<Placement> other_placements() {
  const auto with_ops = [](const std::string& name, int count, CrossDeviceOpsOption ops) {
    return mirrored(name, {.devices = devices_named("cpu", count),
                           .cross_device_ops = std::move(ops),
                           .shared_weights = SharedWeights::never});
  };
  return {with_ops("2 ring", 2, RingAllReduce()),
          with_ops("3 ring", 3, RingAllReduce()),
          with_ops("3 tree", 3, HierarchicalCopyAllReduce()),
          with_ops("4 tree", 4, HierarchicalCopyAllReduce({.num_packs = 2})),
          with_ops("3 to one", 3, ReductionToOneDevice({.device = "cpu:6"})),
          mirrored("weights 3:1", {.devices = devices_named("cpu", 2), .device_weights = {3, 1}}),
          mirrored("1:.2:4 ring", {.devices = devices_named("cpu", 3),
                                   .cross_device_ops = RingAllReduce(),
                                   .device_weights = {1, 0.2, 4},
                                   .shared_weights = SharedWeights::never}),
          central("1 central", {.compute_devices = {"cpu:0"}}),
          central("3 central", {.compute_devices = devices_named("cpu", 3), .parameter_device = "cpu:5"}),
          central("central 2:1", {.compute_devices = devices_named("cpu", 2), .device_weights = {2, 1}})};
}

std::vector<Placement> ghost_placements() {
  return {mirrored("2 ghosts", {.devices = {"ghost:0", "ghost:1"}}),
          central("c. 2 ghosts", {.compute_devices = {"ghost:0", "ghost:1"}})};
}

std::vector<Placement> all_placements() {
  std::vector<Placement> placements = cpu_placements();
  for (const auto& more : {other_placements(), ghost_placements()})
    placements.insert(placements.end(), more.begin(), more.end());
  return placements;
}

/// The largest differences of all tests of this process, printed at its end.
class Table : public ::testing::Environment {
 public:
  void note(const std::string& row, const std::string& column, const Difference& difference, DType dtype) {
    Cell& cell = cells_[row][column];
    (dtype == DType::float64 ? cell.float64 : cell.float32) = difference.largest;
  }
  void TearDown() override {
    for (const bool wide : {false, true}) {
      if (!has(wide)) continue;
      std::printf("\nLargest absolute difference to one device, %s\n%-42s", wide ? "float64" : "float32", "");
      const std::vector<Placement> placements = all_placements();
      for (const Placement& placement : placements) std::printf("%12s", placement.name.c_str());
      for (const PromiseCase& row : promise_cases()) {
        if (!cells_.contains(row.name)) continue;
        std::printf("\n%-42s", row.name.c_str());
        for (const Placement& placement : placements) print(cells_[row.name], placement.name, wide);
      }
      std::printf("\n");
    }
  }

 private:
  struct Cell {
    double float32 = -1, float64 = -1;
  };
  bool has(bool wide) const {
    for (const auto& [name, row] : cells_)
      for (const auto& [column, cell] : row)
        if ((wide ? cell.float64 : cell.float32) >= 0) return true;
    return false;
  }
  static void print(const std::map<std::string, Cell>& row, const std::string& column, bool wide) {
    const auto cell = row.find(column);
    const double value = cell == row.end() ? -1 : wide ? cell->second.float64 : cell->second.float32;
    if (value < 0)
      std::printf("%12s", "-");
    else
      std::printf("%12.1e", value);
  }
  std::map<std::string, std::map<std::string, Cell>> cells_;
};

Table* const table = static_cast<Table*>(::testing::AddGlobalTestEnvironment(new Table));

class PromiseTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static void check(const std::vector<Placement>& placements, DType dtype) {
    const PromiseCase& training = promise_case(GetParam());
    const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), dtype);
    for (const Placement& placement : placements) {
      SCOPED_TRACE(placement.name + ", " + std::string(name_of(dtype)));
      const Difference difference =
          difference_of(outcome_of(training, placement.make(), dtype), expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << difference.where;
      table->note(training.name, placement.name, difference, dtype);
    }
  }
};

TEST_P(PromiseTest, Float32) { check(cpu_placements(), DType::float32); }

TEST_P(PromiseTest, Float64) { check(cpu_placements(), DType::float64); }

TEST_P(PromiseTest, OpsWeightsAndCentralStorageFloat32) { check(other_placements(), DType::float32); }

TEST_P(PromiseTest, OpsWeightsAndCentralStorageFloat64) { check(other_placements(), DType::float64); }

TEST_P(PromiseTest, OnGhostDevices) {
  enable_ghost_device();
  check(ghost_placements(), DType::float32);
}

/// The same seed and devices give the same bits, in every number.
TEST_P(PromiseTest, TheSameBitsAgain) {
  std::vector<Placement> placements = cpu_placements();
  for (const Placement& placement : other_placements()) placements.push_back(placement);
  for (const Placement& placement : placements) {
    if (placement.replicas == 4) continue;
    const PromiseCase& training = promise_case(GetParam());
    const Outcome first = outcome_of(training, placement.make(), DType::float32);
    EXPECT_EQ(outcome_of(training, placement.make(), DType::float32), first) << placement.name;
  }
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const PromiseCase& training : promise_cases()) names.push_back(training.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, PromiseTest, ::testing::ValuesIn(case_names()), [](const auto& instance) {
  std::string name = instance.param;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
});

}  // namespace

}  // namespace nyala::promise_test
