#include <nyala/api/saving/hdf5/image.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/printable.h>

namespace nyala::hdf5 {

void throw_format_error(const Image& image, const std::string& path, const Fault& fault) {
  std::string text = image.name + ": HDF5 object '" + printable(path) + "'";
  if (fault.offset != kNoOffset) text += ", byte " + std::to_string(fault.offset);
  throw FileFormatError(text + ": " + fault.reason);
}

std::string printable(std::string_view text) {
  constexpr size_t kMaxShown = 200;
  return nyala::printable(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "");
}

}  // namespace nyala::hdf5
