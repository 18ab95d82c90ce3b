#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <nyala/backend/core/device.h>

namespace nyala {

struct KernelCall;

/// A point in a stream's order of work. `wait` on another stream makes that one go on only behind it.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the calling thread until all work queued before the event has run.
  virtual void synchronize() = 0;
  /// Whether it has; waits for nothing.
  virtual bool is_reached() const = 0;
};

/// The order of work on one device. All launches and copies pass a stream, so that a step can be recorded.
/// A CPU stream runs its work inline on the calling thread; other streams queue it and return.
/// An error in queued work is kept and thrown by the next synchronize().
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device device() const = 0;
  /// Runs or queues one kernel. A queueing stream copies what it needs from `call`.
  virtual void launch(const KernelCall& call) = 0;
  /// Copies host memory to the device; `source` may be reused when this returns.
  virtual void copy_from_host(void* destination, const void* source, size_t bytes) = 0;
  /// Copies device memory to the host and waits for it.
  virtual void copy_to_host(void* destination, const void* source, size_t bytes) = 0;
  /// Copies within the device.
  virtual void copy(void* destination, const void* source, size_t bytes) = 0;
  /// Copies memory of `owner`'s device to this one, behind what `owner` has queued; what it queues later runs
  /// behind the copy. The calling thread waits only where one of the two is a CPU stream.
  virtual void copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) = 0;
  /// Sets device bytes to zero.
  virtual void fill_zero(void* destination, size_t bytes) = 0;
  virtual std::unique_ptr<Event> record() = 0;
  /// Later work of this stream runs after `event`.
  virtual void wait(Event& event) = 0;
  /// Blocks until everything queued has run; throws the first error of that work.
  virtual void synchronize() = 0;
};

}  // namespace nyala
