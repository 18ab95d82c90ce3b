#pragma once

#include <vector>

#include <nyala/backend/core/device.h>
#include <nyala/backend/runtime/caching_allocator.h>
#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// The logical devices of one kind come from here; one provider per device kind.
class DeviceProvider {
 public:
  virtual ~DeviceProvider() = default;
  /// How many devices of this kind the process sees.
  virtual int count() const = 0;
  virtual std::unique_ptr<MemorySource> make_memory(int index) = 0;
  virtual std::unique_ptr<Stream> make_stream(int index) = 0;
};

/// All devices that exist now, in the order cpu, gpu, ghost (the ghost device only in tests that ask for it).
std::vector<Device> list_logical_devices();
/// Those of one kind: "cpu" or "gpu".
std::vector<Device> list_logical_devices(std::string_view kind);

/// Splits the one physical device of `kind` into `count` logical ones, each with its share of the threads.
/// Only for "cpu". Throws InvalidArgumentError for another kind or a count outside 1..256. Tensors that lie
/// on a device that is configured away stay valid.
void configure_logical_devices(std::string_view kind, int count);

/// Throws DeviceNotFoundError listing the devices there are, unless `device` exists.
void check_device_exists(Device device);

/// The allocator and the stream of a device. Throw DeviceNotFoundError.
CachingAllocator& allocator_of(Device device);
Stream& stream_of(Device device);

/// Waits until all work queued on `device` has run; throws that work's first error.
void synchronize(Device device);

/// Counts of the device's allocator.
AllocatorStats allocator_stats(Device device);

/// Number of cores that compute threads may run on: affinity mask, cgroup quota, then OMP_NUM_THREADS.
int available_cores();

/// Threads that one of the current logical CPU devices may use: its share of available_cores(), at least 1.
int threads_per_cpu_device();

/// Makes the asynchronous test devices "ghost:0" to "ghost:3" exist (tests only).
void enable_ghost_device();

}  // namespace nyala
