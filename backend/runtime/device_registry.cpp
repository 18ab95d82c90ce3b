// Allocators and streams are made on first use and never destroyed. Looking one up is one atomic load in a
// fixed table; only making it takes the lock. Visible devices map logical numbers to physical ones and are
// fixed once an accelerator has been used. The cores that count are those of the affinity mask, cut by the
// control group's quota and by OMP_NUM_THREADS.
#include <nyala/backend/runtime/device_registry.h>

#include <omp.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/visible_devices.h>
#include <nyala/backend/runtime/why_no_gpu.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// CPU quota of this process' control group in cores, or 0 where there is none.
double cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota, period;
  file >> quota >> period;
  const std::optional<double> used = parse_number(quota),
                              of = parse_number(period);  // the first may be "max"
  return used && of && *of > 0 ? *used / *of : 0;
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

constexpr int kMaxDevices = 256;

/// All kinds but the CPU.
std::span<const DeviceKindEntry> accelerators() { return std::span(kDeviceKindList).subspan(1); }

/// Devices are made on first use and live as long as the process: tensors may outlive everything else.
class Registry {
 public:
  struct Entry {
    std::unique_ptr<CachingAllocator> allocator;
    std::unique_ptr<Stream> stream;
    uint32_t made_in = forks();
  };

  Registry() {
    for (const DeviceKindEntry& entry : kDeviceKindList)
      providers_[static_cast<size_t>(entry.kind)] = entry.make_provider();
    if (const char* text = std::getenv("NYALA_VISIBLE_DEVICES")) show_only(parse_visible_devices(text));
  }

  std::atomic<bool> soft_placement{false};
  std::atomic<int> logical_cpus{1};

  int physical_count(DeviceKind kind) const { return std::min(provider(kind).count(), kMaxDevices); }

  /// Physical numbers of the visible devices of a kind of accelerator.
  std::vector<int> visible(DeviceKind kind) {
    std::lock_guard lock(mutex_);
    return visible_locked(kind);
  }

  int count(DeviceKind kind) {
    if (kind == DeviceKind::cpu) return logical_cpus;
    return static_cast<int>(visible(kind).size());
  }

  /// Checks nothing: the ghost devices that NYALA_VISIBLE_DEVICES names come into being later.
  void show_only(const std::vector<Device>& devices) {
    for (const DeviceKindEntry& entry : accelerators()) {
      std::vector<int> indices;
      for (const Device device : devices)
        if (device.kind == entry.kind) indices.push_back(device.index);
      std::lock_guard lock(mutex_);
      visible_[static_cast<size_t>(entry.kind)] = std::move(indices);
    }
  }
  void show(DeviceKind kind, const std::vector<int>& indices) {
    std::lock_guard lock(mutex_);
    visible_[static_cast<size_t>(kind)] = indices;
  }

  bool is_used(DeviceKind kind) const {
    for (const auto& slot : entries_[static_cast<size_t>(kind)])
      if (slot.load(std::memory_order_acquire)) return true;
    return false;
  }

  template <class Body>
  void for_each_of(DeviceKind kind, Body&& body) const {
    for (const auto& slot : entries_[static_cast<size_t>(kind)])
      if (Entry* made = slot.load(std::memory_order_acquire)) body(*made);
  }

  Entry& entry(Device device) {
    auto& slot = entries_[static_cast<size_t>(device.kind)][static_cast<size_t>(device.index) % kMaxDevices];
    if (Entry* made = slot.load(std::memory_order_acquire)) {
      if (device.kind != DeviceKind::cpu && made->made_in != forks()) throw_not_forked(device);
      return *made;
    }
    check_device_exists(device);
    std::lock_guard lock(mutex_);
    if (Entry* made = slot.load(std::memory_order_relaxed)) return *made;
    const int physical = device.kind == DeviceKind::cpu
                             ? device.index
                             : visible_locked(device.kind).at(static_cast<size_t>(device.index));
    auto fresh = std::make_unique<Entry>();
    fresh->allocator =
        std::make_unique<CachingAllocator>(device, provider(device.kind).make_memory(physical));
    fresh->stream = provider(device.kind).make_stream(physical);
    slot.store(fresh.get(), std::memory_order_release);
    return *fresh.release();
  }

 private:
  [[noreturn]] static void throw_not_forked(Device device) {
    throw StateError(
        "'" + device.to_string() +
        "' was in use before this process was forked, and only the parent can go on with it; fork "
        "before its first use, or begin a new program (posix_spawn, exec) instead");
  }

  DeviceProvider& provider(DeviceKind kind) const { return *providers_[static_cast<size_t>(kind)]; }

  std::vector<int> visible_locked(DeviceKind kind) const {
    const int physical = physical_count(kind);
    std::vector<int> indices;
    if (const auto& chosen = visible_[static_cast<size_t>(kind)]) {
      for (const int index : *chosen)
        if (index < physical) indices.push_back(index);
    } else {
      for (int index = 0; index < physical; ++index) indices.push_back(index);
    }
    return indices;
  }

  Mutex mutex_{Mutex::AtFork::is_waited};
  std::array<std::unique_ptr<DeviceProvider>, kDeviceKinds> providers_;
  std::array<std::optional<std::vector<int>>, kDeviceKinds> visible_;  // none: all
  std::array<std::array<std::atomic<Entry*>, kMaxDevices>, kDeviceKinds> entries_{};
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device device : devices) names.push_back(device.to_string());
  return names;
}

void check_visibility_may_change(DeviceKind kind) {
  if (registry().is_used(kind))
    throw StateError("set_visible_devices: a " + std::string(name_of(kind)) +
                     " has been used already, so its number is fixed; call it before the first use");
}

void check_physical(const std::vector<Device>& devices) {
  const std::vector<Device> present = list_physical_devices();
  std::set<Device> named;
  for (const Device device : devices) {
    if (std::find(present.begin(), present.end(), device) == present.end())
      throw DeviceNotFoundError("set_visible_devices: there is no physical device '" + device.to_string() +
                                "'; there are " + quoted_list(names_of(present)));
    if (!named.insert(device).second)
      throw InvalidArgumentError("set_visible_devices: '" + device.to_string() + "' is named twice");
  }
}

/// Why an accelerator that somebody asks for is not there.
std::string why_missing(DeviceKind kind) {
  if (registry().physical_count(kind) > 0)
    return "; the machine has " + std::to_string(registry().physical_count(kind)) +
           ", NYALA_VISIBLE_DEVICES or set_visible_devices() may hide some";
  if (kind != DeviceKind::gpu) return "";
  const char* cuda = std::getenv("CUDA_VISIBLE_DEVICES");
  if (cuda && parse_cuda_visible_devices(cuda, kMaxDevices).empty())
    return "; CUDA_VISIBLE_DEVICES=\"" + std::string(cuda) + "\" hides every GPU";
  return "; " + std::string(why_no_gpu());
}

/// Says once per device that another one is used in its place.
void warn_of_soft_placement(Device device) {
  static Mutex& mutex = *new Mutex(Mutex::AtFork::is_waited);
  static auto* const warned = new std::set<Device>;
  std::lock_guard lock(mutex);
  if (warned->insert(device).second)
    log(LogChannel::warning, "soft placement: '" + device.to_string() + "' does not exist, cpu:0 is used");
}

}  // namespace

std::vector<Device> list_physical_devices(std::string_view kind) {
  std::vector<Device> devices;
  for (const DeviceKindEntry& entry : kDeviceKindList) {
    if (!kind.empty() && Device(kind).kind != entry.kind) continue;
    for (int i = 0; i < registry().physical_count(entry.kind); ++i) devices.emplace_back(entry.kind, i);
  }
  return devices;
}

void set_visible_devices(const std::vector<Device>& devices) {
  check_physical(devices);
  for (const DeviceKindEntry& entry : accelerators()) check_visibility_may_change(entry.kind);
  registry().show_only(devices);
}

void set_visible_devices(std::string_view kind, const std::vector<int>& indices) {
  const DeviceKind of_kind = Device(kind).kind;
  if (of_kind == DeviceKind::cpu)
    throw InvalidArgumentError("set_visible_devices: the CPU is always visible; expected \"gpu\"");
  std::vector<Device> devices;
  for (const int index : indices) devices.emplace_back(of_kind, index);
  check_physical(devices);
  check_visibility_may_change(of_kind);
  registry().show(of_kind, indices);
}

std::vector<Device> get_visible_devices() {
  std::vector<Device> devices{Device{}};
  for (const DeviceKindEntry& entry : accelerators())
    for (const int index : registry().visible(entry.kind)) devices.emplace_back(entry.kind, index);
  return devices;
}

void set_soft_device_placement(bool soft) { registry().soft_placement = soft; }

bool get_soft_device_placement() { return registry().soft_placement; }

Device detail::existing_device(Device device) {
  if (device.index < registry().count(device.kind) || !registry().soft_placement) {
    check_device_exists(device);
    return device;
  }
  warn_of_soft_placement(device);
  return Device{};
}

std::vector<Device> list_logical_devices() {
  std::vector<Device> devices;
  for (const DeviceKindEntry& entry : kDeviceKindList)
    for (int i = 0; i < registry().count(entry.kind); ++i) devices.emplace_back(entry.kind, i);
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
  registry().logical_cpus = count;
}

void detail::check_device_exists(Device device) {
  if (device.index < registry().count(device.kind)) return;
  const std::string hint = device.kind == DeviceKind::cpu
                               ? "; configure_logical_devices(\"cpu\", n) makes more"
                               : why_missing(device.kind);
  throw DeviceNotFoundError("device '" + device.to_string() + "' does not exist; there are " +
                            quoted_list(names_of(list_logical_devices())) + hint);
}

CachingAllocator& detail::allocator_of(Device device) { return *registry().entry(device).allocator; }

Stream& detail::stream_of(Device device) { return *registry().entry(device).stream; }

void synchronize(Device device) { stream_of(device).synchronize(); }

AllocatorStats allocator_stats(Device device) { return allocator_of(device).stats(); }

void reset_memory_stats(Device device) { allocator_of(device).reset_peak(); }

void for_each_host_allocator(const std::function<void(CachingAllocator&)>& body) {
  registry().for_each_of(DeviceKind::cpu, [&](Registry::Entry& entry) { body(*entry.allocator); });
}

void release_cached_host_memory() noexcept {
  registry().for_each_of(DeviceKind::cpu, [](Registry::Entry& entry) { entry.allocator->release_cached(); });
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int available_cores() {
  static const int cores = count_cores();
  return cores;
}

int threads_per_cpu_device() { return std::max(1, available_cores() / registry().logical_cpus); }

int compute_threads() {
  const int own = thread_context().compute_threads;
  return own > 0 ? own : available_cores();
}

}  // namespace nyala
