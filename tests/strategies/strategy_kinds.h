#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

inline std::vector<float> numbers(const Tensor& tensor) { return tensor.to_vector<float>(); }

/// "cpu:0", "cpu:1", ...
inline std::vector<std::string> device_names(const std::string& kind, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(kind + ":" + std::to_string(i));
  return names;
}

/// One way to lay out replicas.
struct StrategyKind {
  std::string name;
  std::string device_kind;
  int replicas;
  SharedWeights weights;
};

inline Strategy make_strategy(const StrategyKind& kind) {
  return MirroredStrategy(
      {.devices = device_names(kind.device_kind, kind.replicas), .shared_weights = kind.weights});
}

/// 1 to 4 replicas with shared and with separate storage, and the ghost device.
inline std::vector<StrategyKind> strategy_kinds() {
  std::vector<StrategyKind> kinds;
  for (int replicas = 1; replicas <= 4; ++replicas) {
    const std::string number = std::to_string(replicas);
    kinds.push_back({"shared" + number, "cpu", replicas, SharedWeights::automatic});
    if (replicas > 1) kinds.push_back({"separate" + number, "cpu", replicas, SharedWeights::never});
  }
  kinds.push_back({"ghost2", "ghost", 2, SharedWeights::automatic});
  kinds.push_back({"ghost3", "ghost", 3, SharedWeights::automatic});
  return kinds;
}

/// Runs a test on every StrategyKind.
class OnStrategies : public ::testing::TestWithParam<StrategyKind> {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 7);
    enable_ghost_device();
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }
  static Strategy strategy() { return make_strategy(GetParam()); }
  static int replicas() { return GetParam().replicas; }
};

inline std::string kind_name(const ::testing::TestParamInfo<StrategyKind>& info) { return info.param.name; }

}  // namespace nyala
