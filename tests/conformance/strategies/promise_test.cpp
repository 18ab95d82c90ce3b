// The promise: any strategy with any number of replicas gives the numbers of one device.
#include <cctype>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

namespace {

/// Replicas and where their weights lie.
struct Placement {
  std::string name;
  MirroredStrategyConfig config;
};

std::vector<Placement> cpu_placements() {
  std::vector<Placement> placements;
  for (int count : {1, 2, 3, 4, 7})
    for (bool shared : {true, false}) {
      Placement placement{std::to_string(count) + (shared ? " shared" : " separate"), {}};
      for (int i = 0; i < count; ++i) placement.config.devices.push_back("cpu:" + std::to_string(i));
      placement.config.shared_weights = shared ? SharedWeights::automatic : SharedWeights::never;
      placement.config.bucket_elements = 64;  // several buckets even in small models
      placements.push_back(placement);
    }
  return placements;
}

Placement ghost_placement() {
  return {"2 ghosts", {.devices = {"ghost:0", "ghost:1"}, .bucket_elements = 64}};
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
      std::vector<Placement> placements = cpu_placements();
      placements.push_back(ghost_placement());
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
          difference_of(outcome_of(training, MirroredStrategy(placement.config), dtype), expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << difference.where;
      table->note(training.name, placement.name, difference, dtype);
    }
  }
};

TEST_P(PromiseTest, Float32) { check(cpu_placements(), DType::float32); }

TEST_P(PromiseTest, Float64) { check(cpu_placements(), DType::float64); }

TEST_P(PromiseTest, OnGhostDevices) {
  enable_ghost_device();
  check({ghost_placement()}, DType::float32);
}

/// The same seed and devices give the same bits, in every number.
TEST_P(PromiseTest, TheSameBitsAgain) {
  for (const Placement& placement : cpu_placements()) {
    if (placement.config.devices.size() == 4) continue;
    const PromiseCase& training = promise_case(GetParam());
    const Outcome first = outcome_of(training, MirroredStrategy(placement.config), DType::float32);
    EXPECT_EQ(outcome_of(training, MirroredStrategy(placement.config), DType::float32), first)
        << placement.name;
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

}  // namespace nyala
