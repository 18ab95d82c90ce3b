#include <nyala/backend/runtime/visible_devices.h>

#include <algorithm>
#include <charconv>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> entries;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    entries.push_back(trimmed(text.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return entries;
}

/// The number that the whole text is, or -1.
int index_in(std::string_view text) {
  int index = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), index);
  return status == std::errc() && end == text.data() + text.size() && index >= 0 ? index : -1;
}

Device device_of(std::string_view entry) {
  if (const int index = index_in(entry); index >= 0) return Device("gpu:" + std::to_string(index));
  return Device(entry);
}

}  // namespace

std::vector<Device> parse_visible_devices(std::string_view text) {
  const std::string_view whole = trimmed(text);
  if (whole.empty() || whole == "-1" || whole == "none") return {};
  std::vector<Device> devices;
  for (const std::string_view entry : entries_of(whole)) {
    try {
      devices.push_back(device_of(entry));
    } catch (const Error&) {
      rethrow_with_prefix("NYALA_VISIBLE_DEVICES=\"" + std::string(text) + "\": ");
    }
    if (std::count(devices.begin(), devices.end(), devices.back()) > 1)
      throw InvalidArgumentError("NYALA_VISIBLE_DEVICES=\"" + std::string(text) + "\": '" +
                                 devices.back().to_string() + "' is named twice");
  }
  return devices;
}

std::vector<int> parse_cuda_visible_devices(std::string_view text, int count) {
  std::vector<int> visible;
  for (const std::string_view entry : entries_of(text)) {
    const int index = index_in(entry);
    if (index < 0 || index >= count) break;
    if (std::find(visible.begin(), visible.end(), index) != visible.end()) return {};
    visible.push_back(index);
  }
  return visible;
}

}  // namespace nyala
