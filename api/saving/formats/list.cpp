#include <filesystem>

#include <nyala/api/saving/formats/format.h>
#include <nyala/backend/core/error.h>

namespace nyala {

// Every format: one name here, one below in the order in which they are asked.
extern const Format kKerasArchive, kLegacyHdf5, kNpz, kSafetensors, kShardedWeights;

const std::vector<Format>& formats() {
  static const std::vector<Format>& all =
      *new std::vector<Format>{kNpz, kKerasArchive, kLegacyHdf5, kSafetensors, kShardedWeights};
  return all;
}

StoredModel read_stored_model(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return read_unzipped_archive(path);
  const auto file = FileBytes::open(path);
  for (const Format& format : formats())
    if (format.recognises(file)) return format.read(file);
  throw FileFormatError(
      path + ": expected a .keras archive, an HDF5, a .safetensors or an .npz file, found none of them");
}

}  // namespace nyala
