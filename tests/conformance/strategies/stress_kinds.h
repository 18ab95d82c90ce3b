#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <nyala/api/model/model.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

/// An error that a test has planted: the thread of device `victim` throws in its `step`-th training step.
class Fuse {
 public:
  void arm(int victim, int step);
  /// One training step of the current thread's device. Throws std::runtime_error once, when it is time.
  void burn();
  bool armed() const { return step_ > 0; }

 private:
  int victim_ = 0;
  std::atomic<int> step_{0};
  std::array<std::atomic<int>, 8> steps_{};
};

inline constexpr const char* kPlanted = "planted by the test";

/// A kind of strategy with its numbers, chosen by chance.
struct StressStrategy {
  std::string text = {};
  int devices = 1;
  int first_device = 0;
  /// Wraps the model itself and runs under no scope of several replicas (multi_gpu_model, DataParallel).
  bool wraps = false;
  std::function<Strategy()> make = {};
  std::function<Model(const Model&)> wrap = {};
};
StressStrategy random_strategy(DrawStream& chance);

/// A little network with its data, chosen by chance.
struct StressModel {
  std::string text = {};
  bool has_own_step = false;  // train_step is overridden
  Tensor x = {}, y = {};
  /// Makes and compiles it; a layer of it (or its train_step) burns the fuse.
  std::function<Model(const std::shared_ptr<Fuse>&)> make = {};
  std::function<void(const Model&)> compile = {};
};
StressModel random_model(DrawStream& chance, int64_t rows);

}  // namespace nyala
