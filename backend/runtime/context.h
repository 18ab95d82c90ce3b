#pragma once

#include <memory>
#include <string_view>

#include <nyala/backend/core/device.h>

namespace nyala {

class Tape;
class ReplicaContext;
class VariableCreator;

/// Everything that depends on the calling thread, in one place. Layers and kernels read none of it; tests
/// reset it with `thread_context() = {}`.
struct ThreadContext {
  Device device;                       // where new tensors go
  Tape* tape = nullptr;                // innermost recording GradientTape
  VariableCreator* creator = nullptr;  // the strategy whose scope is open
  std::shared_ptr<void> strategy;      // keeps that strategy alive (strategies/strategy.cpp knows its type)
  ReplicaContext* replica = nullptr;   // set inside Strategy::run
  int compute_threads = 0;             // OpenMP team of this thread; 0: the device's share
  std::string_view only_kernel;        // tests: ops that have this kernel run it; "reference" binds all
};

ThreadContext& thread_context();

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

/// `auto on = device("gpu:1");` new tensors and layers go there until `on` ends. Throws DeviceNotFoundError.
[[nodiscard]] ScopedValue<Device> device(Device where);

}  // namespace nyala
