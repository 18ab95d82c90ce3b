#include <nyala/api/saving/hdf5/image.h>
#include <nyala/backend/core/error.h>

namespace nyala::hdf5 {

void throw_format_error(const Image& image, const std::string& path, const Fault& fault) {
  std::string text = image.name + ": HDF5 object '" + printable(path) + "'";
  if (fault.offset != kNoOffset) text += ", byte " + std::to_string(fault.offset);
  throw FileFormatError(text + ": " + fault.reason);
}

std::string printable(std::string_view text) {
  constexpr size_t kMaxShown = 200;
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += c;
    } else {
      shown += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (text.size() > kMaxShown) shown += "...";
  return shown;
}

}  // namespace nyala::hdf5
