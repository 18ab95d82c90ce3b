#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/base/image.h>

namespace nyala::hdf5 {

void throw_format_error(const Image& image, const std::string& path, const Fault& fault) {
  std::string text = image.name + ": HDF5 object " + detail::in_quotes(path);
  if (fault.offset != kNoOffset) text += ", byte " + std::to_string(fault.offset);
  throw FileFormatError(text + ": " + fault.reason);
}

}  // namespace nyala::hdf5
