#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <nyala/backend/core/device_kind.h>

namespace nyala {

/// Names one logical device: "cpu:0", "gpu:1". A value; whether the device exists is the runtime's business.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int16_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceKind device_kind, int device_index)
      : kind(device_kind), index(static_cast<int16_t>(device_index)) {}
  /// Parses "cpu:0", "cpu" (index 0), "/gpu:1", "GPU:1", "/device:CPU:0" and TensorFlow's whole name
  /// "/job:localhost/replica:0/task:0/device:CPU:0". Throws InvalidArgumentError saying what is wrong.
  Device(std::string_view name);
  Device(const char* name) : Device(std::string_view(name)) {}
  Device(const std::string& name) : Device(std::string_view(name)) {}

  std::string to_string() const;

  friend bool operator==(const Device&, const Device&) = default;
  friend auto operator<=>(const Device&, const Device&) = default;
};

/// Whether the host reads and writes its memory in place, as that of all logical devices of the CPU.
constexpr bool is_on_host(Device device) { return detail::entry_of(device.kind).on_host; }

/// Whether one can read and write the other's memory in place: a device itself, and all on the host.
constexpr bool share_memory(Device a, Device b) { return a == b || (is_on_host(a) && is_on_host(b)); }

/// Where this thread makes new tensors: inside a replica its device, under device() the guard's, else cpu:0.
Device current_device();

/// "cpu", "gpu", "ghost".
std::string_view name_of(DeviceKind kind);

}  // namespace nyala
