#pragma once

#include <functional>

#include <nyala/api/parallel/device_slices.h>
#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/replicas/replica_group.h>
#include <nyala/strategies/replicas/replica_threads.h>

namespace nyala {

/// The threads of one DeviceSlices, one per device, and their meeting point.
class SliceMachine {
 public:
  explicit SliceMachine(DeviceSlicesOptions given)
      : options(std::move(given)), group_(options.devices), threads_(options.devices) {}

  /// Calls body(i) on every device's thread. Throws the first error, with slice and device in its text.
  void on_all(const std::function<void(int)>& body);

  int size() const { return group_.size(); }
  /// What slice `i` may ask of the others; null where it is alone.
  Collectives* replica(int i) const { return size() > 1 ? &group_.context(i) : nullptr; }

  const DeviceSlicesOptions options;

 private:
  void on_one(const std::function<void(int)>& body);
  void fail(int i) noexcept;

  ReplicaGroup group_;
  Mutex turn_;
  CaughtError first_error_;
  ReplicaThreads threads_;
};

}  // namespace nyala
