#include <nyala/api/saving/formats/format.h>
#include <nyala/backend/core/error.h>

namespace nyala {

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {kKerasArchive, kLegacyHdf5};
  return all;
}

StoredModel read_stored_model(const std::string& path) {
  const auto file = FileBytes::open(path);
  for (const Format& format : formats())
    if (format.recognises(*file)) return format.read(file);
  throw FileFormatError(path + ": expected a .keras archive or an HDF5 file, found neither");
}

}  // namespace nyala
