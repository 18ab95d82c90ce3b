#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include <nyala/backend/core/device.h>

namespace nyala {

class Call;
class Collectives;
class LayerNode;
class SaveNotes;
class StatusWords;
class Tape;
class VariableCreator;
class WeightSource;
struct ReplicaContext;

namespace detail {
class NameCounters;
}

/// Names no device.
inline constexpr Device kNoPlacement{DeviceKind::cpu, -1};

/// A layer's call() or build(), or a step of a model, that runs on this thread.
struct RunningCall {
  Call* call = nullptr;                // of the layers that are called without one; null: each has its own
  const LayerNode* layer = nullptr;    // whose call() or build() it is, in a step the model; null: nobody's
  const RunningCall* outer = nullptr;  // what called it
  bool is_step = false;                // train_step() and the like, outside of layers
};

/// Everything that depends on the calling thread, in one place. Layers and kernels read none of it; tests
/// reset it with `thread_context() = {}`.
struct ThreadContext {
  Device device;                       // of this thread's work: a replica's, or that of the innermost guard
  Device placement = kNoPlacement;     // what device() named: `device` again while that guard decides
  Tape* tape = nullptr;                // innermost recording GradientTape
  VariableCreator* creator = nullptr;  // the strategy whose scope is open
  std::shared_ptr<void> strategy;      // keeps that strategy alive (strategies/strategy.cpp knows its type)
  std::shared_ptr<std::atomic<int>> scopes;   // how many scopes opened it here; null: what runs here did
  Collectives* replica = nullptr;             // set inside Strategy::run where there are several replicas
  ReplicaContext* replica_context = nullptr;  // set inside Strategy::run (strategies/replica_context.h)
  const RunningCall* running = nullptr;       // the innermost one
  const LayerNode* building = nullptr;        // the innermost layer whose build() runs
  WeightSource* weight_source = nullptr;      // of layers that are built here; null: their initializers
  detail::NameCounters* names = nullptr;      // of automatic names (api/base); null: the process' own
  SaveNotes* save_notes = nullptr;            // where what no file can hold is noted; null: nowhere
  int layers_written = 0;                     // inside how many layers a config is that is being written
  bool keeps_output_shapes = false;           // KeepOutputShapes (api/layers)
  int64_t step = 0;                           // keys random numbers of steps that nobody counts
  int update_replica = -1;                    // whose copy Strategy::update is writing
  int compute_threads = 0;                    // OpenMP team of this thread; 0: the device's share
  StatusWords* status = nullptr;  // of the model's call that runs here; null: each op looks at its own
  std::string_view only_kernel;   // tests: ops that have this kernel run it; "reference" binds all

  /// True while a device() guard decides where ops run. A replica's step that begins under a guard runs on
  /// the replica's device.
  bool is_placed() const { return placement == device; }
};

namespace detail {

ThreadContext& thread_context();

/// This thread's context without a strategy all of whose scopes were closed, the last one on another thread.
/// For who asks for the strategy or its creator.
ThreadContext& context_of_open_scopes();

}  // namespace detail

/// Sets a value for as long as it lives, then puts the old one back.
template <class T>
class ScopedValue {
 public:
  ScopedValue(T& place, T value) : place_(place), old_(place) { place_ = value; }
  ~ScopedValue() { place_ = old_; }
  ScopedValue(const ScopedValue&) = delete;
  ScopedValue& operator=(const ScopedValue&) = delete;

 private:
  T& place_;
  T old_;
};

/// Lets ops and layers of this thread run on `where` for as long as it lives; where `where` is kNoPlacement
/// they run where their inputs are.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device where)
      : device_(detail::thread_context().device,
                where == kNoPlacement ? detail::thread_context().device : where),
        placement_(detail::thread_context().placement, where) {}

 private:
  ScopedValue<Device> device_, placement_;
};

/// `auto on = device("gpu:1");` ops and layer calls run there until `on` ends, and a layer call traced into a
/// graph remembers it. Inputs that lie elsewhere are copied to it, differentiably; gradients of an op are
/// computed on its device. Guards end in the reverse order of their beginning. Weights stay where their
/// strategy keeps them and are fetched. Throws DeviceNotFoundError; with soft placement a device that does
/// not exist stands for cpu:0.
[[nodiscard]] DeviceGuard device(Device where);

}  // namespace nyala
