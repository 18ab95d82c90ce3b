#include <nyala/backend/core/device.h>

#include <algorithm>
#include <charconv>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

std::string_view name_of(DeviceKind kind) { return entry_of(kind).name; }

namespace {

/// Compilers write an enumerator by its name and any other value as a number in brackets.
template <DeviceKind kind>
constexpr bool is_enumerator() {
  const std::string_view name = __PRETTY_FUNCTION__;
  const size_t begin = name.find("kind = ");
  return begin != std::string_view::npos && name[begin + 7] != '(';
}
static_assert(is_enumerator<DeviceKind::ghost>() && !is_enumerator<static_cast<DeviceKind>(255)>());
static_assert(!is_enumerator<static_cast<DeviceKind>(kDeviceKinds)>(),
              "an enumerator of DeviceKind has no row in kDeviceKindList");

[[noreturn]] void throw_bad_name(std::string_view name, const std::string& reason) {
  throw InvalidArgumentError(in_quotes(name) + " is not a device name: " + reason +
                             "; write it as \"cpu:0\", \"gpu:1\" or \"/device:GPU:1\"");
}

/// Takes off the parts that TensorFlow writes before the device; only this process has devices here.
std::string_view without_task(std::string_view name, std::string_view text) {
  if (!text.starts_with("/job:")) return text;
  const size_t device = text.rfind("/device:");
  if (device == std::string_view::npos) throw_bad_name(name, "it names a task but no device");
  if (text.substr(0, device) != "/job:localhost/replica:0/task:0")
    throw_bad_name(name, "only /job:localhost/replica:0/task:0 is this process");
  return text.substr(device);
}

DeviceKind parse_kind(std::string_view name, std::string_view kind) {
  if (!kind.empty())
    for (const DeviceKindEntry& entry : kDeviceKindList)
      if (kind == entry.name || kind == entry.other_name) return entry.kind;
  throw_bad_name(name, kind.empty() ? "the kind of device is missing"
                                    : "there is no kind of device " + in_quotes(kind));
}

}  // namespace

Device::Device(std::string_view name) {
  const std::string text = lower_case(name);
  std::string_view rest = without_task(name, text);
  if (rest.starts_with("/")) rest.remove_prefix(1);
  if (rest.starts_with("device:")) rest.remove_prefix(7);
  const size_t colon = rest.find(':');
  kind = parse_kind(name, rest.substr(0, colon));
  if (colon == std::string_view::npos) return;
  const std::string_view digits = rest.substr(colon + 1);
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (status == std::errc::result_out_of_range) throw_bad_name(name, "its index is too large");
  if (status != std::errc() || end != digits.data() + digits.size() || index < 0)
    throw_bad_name(name, "expected an index from 0 behind the colon, received " + in_quotes(digits));
}

std::string Device::to_string() const { return std::string(name_of(kind)) + ":" + std::to_string(index); }

}  // namespace nyala
