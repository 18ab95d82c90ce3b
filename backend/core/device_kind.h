#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

namespace nyala {

class DeviceProvider;
class KernelTable;

/// What a device is made of. `ghost` is the test device: asynchronous, its memory unreadable outside
/// kernels and explicit copies, so that it shows every place that would break on a GPU.
enum class DeviceKind : uint8_t { cpu, gpu, ghost };

// Of the rooms above, named here for the list alone.

/// Where CPUs come from.
std::unique_ptr<DeviceProvider> make_cpu_provider();
/// Where GPUs come from; of a build without CUDA, one that has none and says why.
std::unique_ptr<DeviceProvider> make_gpu_provider();
/// Where the test device comes from.
std::unique_ptr<DeviceProvider> make_ghost_provider();
/// Adds the kernels that CPUs have of their own.
void register_cpu_kernels(KernelTable& table);
/// Adds the kernels that GPUs have of their own.
void register_cuda_kernels(KernelTable& table);

namespace detail {

/// A kind of device: all that is asked of it by kind.
struct DeviceKindEntry {
  DeviceKind kind;
  std::string_view name;
  std::string_view other_name = {};   // that device names may have, too
  bool on_host = false;               // its devices' memory is the host's, readable in place
  bool runs_reference_loops = false;  // where no kernel takes a call
  std::unique_ptr<DeviceProvider> (*make_provider)() = nullptr;
  void (*register_kernels)(KernelTable& table) = nullptr;  // null: it has none of its own
};

/// All of them, by their numbers. A new one is an enumerator and a row here, and a file with its provider:
/// memory, stream, how many there are.
inline constexpr DeviceKindEntry kDeviceKindList[] = {
    {.kind = DeviceKind::cpu,
     .name = "cpu",
     .on_host = true,
     .runs_reference_loops = true,
     .make_provider = make_cpu_provider,
     .register_kernels = register_cpu_kernels},
    {.kind = DeviceKind::gpu,
     .name = "gpu",
     .other_name = "cuda",
     .make_provider = make_gpu_provider,
     .register_kernels = register_cuda_kernels},
    {.kind = DeviceKind::ghost,
     .name = "ghost",
     .runs_reference_loops = true,
     .make_provider = make_ghost_provider},
};

constexpr const DeviceKindEntry& entry_of(DeviceKind kind) {
  return kDeviceKindList[static_cast<size_t>(kind)];
}

}  // namespace detail

inline constexpr int kDeviceKinds = static_cast<int>(std::size(detail::kDeviceKindList));

static_assert(
    [] {
      for (int i = 0; i < kDeviceKinds; ++i)
        if (detail::kDeviceKindList[i].kind != static_cast<DeviceKind>(i)) return false;
      return true;
    }(),
    "the rows of kDeviceKindList stand in the order of the enumerators");

}  // namespace nyala
