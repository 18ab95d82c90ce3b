#include <nyala/backend/runtime/device_registry.h>

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/cpu_stream.h>
#include <nyala/backend/runtime/ghost_device.h>
#include <nyala/backend/runtime/gpu_provider.h>
#include <nyala/backend/runtime/host_memory.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

/// CPU quota of this process' control group in cores, or 0 where there is none.
double cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

int count_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  if (const double quota = cgroup_quota(); quota > 0)
    cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  if (std::getenv("OMP_NUM_THREADS")) cores = std::min(cores, omp_get_max_threads());
  return std::max(cores, 1);
}

class CpuProvider final : public DeviceProvider {
 public:
  int count() const override { return count_; }
  void set_count(int count) { count_ = count; }
  std::unique_ptr<MemorySource> make_memory(int) override { return std::make_unique<HostMemory>(); }
  std::unique_ptr<Stream> make_stream(int index) override {
    return std::make_unique<CpuStream>(Device(DeviceKind::cpu, index));
  }

 private:
  std::atomic<int> count_{1};
};

constexpr int kMaxDevices = 256;

/// Devices are made on first use and live as long as the process: tensors may outlive everything else.
struct Registry {
  std::mutex mutex;
  CpuProvider* cpu = new CpuProvider;
  std::array<std::unique_ptr<DeviceProvider>, kDeviceKinds> providers;
  bool ghost_enabled = false;

  struct Entry {
    std::unique_ptr<CachingAllocator> allocator;
    std::unique_ptr<Stream> stream;
  };
  std::array<std::array<std::atomic<Entry*>, kMaxDevices>, kDeviceKinds> entries{};

  Registry() {
    providers[static_cast<size_t>(DeviceKind::cpu)].reset(cpu);
    providers[static_cast<size_t>(DeviceKind::gpu)] = make_gpu_provider();
    providers[static_cast<size_t>(DeviceKind::ghost)] = make_ghost_provider();
  }

  DeviceProvider& provider(DeviceKind kind) { return *providers[static_cast<size_t>(kind)]; }

  int count(DeviceKind kind) {
    if (kind == DeviceKind::ghost && !ghost_enabled) return 0;
    return std::min(provider(kind).count(), kMaxDevices);
  }

  Entry& entry(Device device) {
    auto& slot = entries[static_cast<size_t>(device.kind)][static_cast<size_t>(device.index) % kMaxDevices];
    if (Entry* made = slot.load(std::memory_order_acquire)) return *made;
    check_device_exists(device);
    std::lock_guard lock(mutex);
    if (Entry* made = slot.load(std::memory_order_relaxed)) return *made;
    auto fresh = std::make_unique<Entry>();
    fresh->allocator =
        std::make_unique<CachingAllocator>(device, provider(device.kind).make_memory(device.index));
    fresh->stream = provider(device.kind).make_stream(device.index);
    slot.store(fresh.get(), std::memory_order_release);
    return *fresh.release();
  }
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

}  // namespace

std::vector<Device> list_logical_devices() {
  std::vector<Device> devices;
  for (int kind = 0; kind < kDeviceKinds; ++kind)
    for (int i = 0; i < registry().count(static_cast<DeviceKind>(kind)); ++i)
      devices.emplace_back(static_cast<DeviceKind>(kind), i);
  return devices;
}

std::vector<Device> list_logical_devices(std::string_view kind) {
  const DeviceKind wanted = Device(kind).kind;
  std::vector<Device> devices = list_logical_devices();
  std::erase_if(devices, [wanted](Device device) { return device.kind != wanted; });
  return devices;
}

void configure_logical_devices(std::string_view kind, int count) {
  if (Device(kind).kind != DeviceKind::cpu)
    throw InvalidArgumentError("configure_logical_devices splits only \"cpu\", received \"" +
                               std::string(kind) + "\"");
  if (count < 1 || count > kMaxDevices)
    throw InvalidArgumentError("configure_logical_devices: expected 1 to " + std::to_string(kMaxDevices) +
                               " devices, received " + std::to_string(count));
  registry().cpu->set_count(count);
}

void check_device_exists(Device device) {
  if (device.index < registry().count(device.kind)) return;
  std::vector<std::string> names;
  for (Device existing : list_logical_devices()) names.push_back(existing.to_string());
  std::string hint;
  if (device.kind == DeviceKind::gpu) hint = "; " + std::string(why_no_gpu());
  if (device.kind == DeviceKind::cpu) hint = "; configure_logical_devices(\"cpu\", n) makes more";
  throw DeviceNotFoundError("device '" + device.to_string() + "' does not exist; there are " +
                            quoted_list(names) + hint);
}

CachingAllocator& allocator_of(Device device) { return *registry().entry(device).allocator; }

Stream& stream_of(Device device) { return *registry().entry(device).stream; }

void synchronize(Device device) { stream_of(device).synchronize(); }

AllocatorStats allocator_stats(Device device) { return allocator_of(device).stats(); }

int available_cores() {
  static const int cores = count_cores();
  return cores;
}

int threads_per_cpu_device() { return std::max(1, available_cores() / registry().cpu->count()); }

void enable_ghost_device() { registry().ghost_enabled = true; }

int compute_threads() {
  const int own = thread_context().compute_threads;
  return own > 0 ? own : available_cores();
}

}  // namespace nyala
