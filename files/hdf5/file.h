#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <nyala/files/hdf5/group.h>

namespace nyala::hdf5 {

/// Reads HDF5 files with an own strict reader of what Keras files (and most others) use; bytes that are not
/// as the format says give a FileFormatError, never a crash or a hang. A handle; groups and datasets stay
/// valid after it is gone.
///
/// Read: superblocks 0 to 3; groups and attributes of both styles; compact, contiguous and chunked layouts
/// with every chunk index; deflate, shuffle, fletcher32; integers, float16 to float64, bfloat16, booleans,
/// strings. Refused by name: soft, external and user-defined links, external storage, virtual datasets, other
/// filters and types.
class File {
 public:
  /// Throws IoError where the system refuses, FileFormatError where the bytes are no HDF5.
  static File open(const std::string& path);
  /// A file that lies in memory or inside another one, read where it is. `display_name` is how messages call
  /// it, "model.keras: model.weights.h5".
  static File from_bytes(StoredBytes bytes, std::string display_name);
  /// The same where the bytes lie in memory, which `owner` keeps alive.
  static File from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string display_name) {
    return from_bytes(StoredBytes(bytes, std::move(owner)), std::move(display_name));
  }
  /// The same file, without a look at the checksums of its values.
  File unverified() const;

  const Group& root() const { return root_; }
  const std::string& name() const { return name_; }

 private:
  File(ImagePtr image, std::string name) : image_(image), root_(image), name_(std::move(name)) {}

  ImagePtr image_;
  Group root_;
  std::string name_;
};

}  // namespace nyala::hdf5
