#pragma once

#include <functional>
#include <vector>

#include <nyala/backend/core/device.h>
#include <nyala/backend/runtime/caching_allocator.h>
#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// The devices of one kind come from here; kDeviceKindList (core/device_kind.h) names the provider of each.
class DeviceProvider {
 public:
  virtual ~DeviceProvider() = default;
  /// How many physical devices of this kind the process has.
  virtual int count() const = 0;
  /// Memory and stream of physical device `index`, which may have another number among the visible ones.
  virtual std::unique_ptr<MemorySource> make_memory(int index) = 0;
  virtual std::unique_ptr<Stream> make_stream(int index) = 0;
};

/// The devices of this machine, of one kind ("cpu", "gpu") or of all: one CPU, and the GPUs that the driver
/// shows (it applies CUDA_VISIBLE_DEVICES and its renumbering first).
std::vector<Device> list_physical_devices(std::string_view kind = {});

/// Lets the process see these physical devices only, in this order: the first GPU of the list is gpu:0. The
/// CPU is always visible; accelerators not named are hidden. Replaces the environment's NYALA_VISIBLE_DEVICES
/// (parse_visible_devices() says how it is written), which is read at the first use of any device. Throws
/// DeviceNotFoundError, InvalidArgumentError for a device named twice, StateError once an accelerator has
/// been used.
void set_visible_devices(const std::vector<Device>& devices);
/// The same for one kind of accelerator, by physical indices; others stay as they are.
void set_visible_devices(std::string_view kind, const std::vector<int>& indices);
/// The physical devices that are visible, in the order of their logical numbers.
std::vector<Device> get_visible_devices();

/// What happens to device("gpu:0") where there is no such device, and to an op without a kernel on its
/// device: with soft placement it runs on the CPU and the log says so once, without (the default) it is an
/// error. TensorFlow's default is to be soft.
void set_soft_device_placement(bool soft);
bool get_soft_device_placement();

/// All devices that exist now, in the order cpu, gpu, ghost (the ghost device only in tests that ask for it).
std::vector<Device> list_logical_devices();
/// Those of one kind: "cpu" or "gpu".
std::vector<Device> list_logical_devices(std::string_view kind);

/// Splits the one physical device of `kind` into `count` logical ones, each with its share of the threads.
/// Only for "cpu". Throws InvalidArgumentError for another kind or a count outside 1..256. Tensors that lie
/// on a device that is configured away stay valid.
void configure_logical_devices(std::string_view kind, int count);

namespace detail {

/// Throws DeviceNotFoundError listing the devices there are, unless `device` exists.
void check_device_exists(Device device);

/// `device` if it exists; else cpu:0 with soft placement, DeviceNotFoundError without.
Device existing_device(Device device);

/// The allocator and the stream of a device. Throw DeviceNotFoundError.
CachingAllocator& allocator_of(Device device);
Stream& stream_of(Device device);

}  // namespace detail

/// Waits until all work queued on `device` has run; throws that work's first error.
void synchronize(Device device);

/// Counts of the device's allocator.
AllocatorStats allocator_stats(Device device);

/// Begins anew with AllocatorStats::peak_bytes of the device (TensorFlow's reset_memory_stats).
void reset_memory_stats(Device device);

/// Calls body(allocator) for each device of the host that has been used.
void for_each_host_allocator(const std::function<void(CachingAllocator&)>& body);

/// Number of cores that compute threads may run on: affinity mask, cgroup quota, then OMP_NUM_THREADS.
int available_cores();

/// Threads that one of the current logical CPU devices may use: its share of available_cores(), at least 1.
int threads_per_cpu_device();

/// Makes the asynchronous test devices "ghost:0" to "ghost:3" exist (tests only).
void enable_ghost_device();

}  // namespace nyala
