#include <nyala/backend/core/device.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include <nyala/backend/core/error.h>

namespace nyala {

std::string_view name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::ghost:
      return "ghost";
  }
  return "unknown";
}

namespace {

[[noreturn]] void throw_bad_name(std::string_view name) {
  throw InvalidArgumentError("'" + std::string(name) +
                             "' is not a device name; write it as \"cpu:0\", \"gpu:1\" or \"/device:GPU:1\"");
}

}  // namespace

Device::Device(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view rest = text;
  if (rest.starts_with("/")) rest.remove_prefix(1);
  if (rest.starts_with("device:")) rest.remove_prefix(7);
  const size_t colon = rest.find(':');
  const std::string_view kind_name = rest.substr(0, colon);
  if (kind_name == "cpu")
    kind = DeviceKind::cpu;
  else if (kind_name == "gpu" || kind_name == "cuda")
    kind = DeviceKind::gpu;
  else if (kind_name == "ghost")
    kind = DeviceKind::ghost;
  else
    throw_bad_name(name);
  if (colon == std::string_view::npos) return;
  const std::string_view digits = rest.substr(colon + 1);
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (status != std::errc() || end != digits.data() + digits.size() || index < 0) throw_bad_name(name);
}

std::string Device::to_string() const { return std::string(name_of(kind)) + ":" + std::to_string(index); }

}  // namespace nyala
