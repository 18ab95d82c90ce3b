#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <nyala/files/base/stored_bytes.h>
#include <nyala/files/hdf5/base/fault.h>

namespace nyala::hdf5 {

class LinkCache;

/// The bytes of one HDF5 file, immutable once its superblock is read. Shared by every object of the file.
struct Image {
  StoredBytes bytes;                 ///< from the superblock on: address 0 is its first byte
  std::string name;                  ///< how messages call the file
  int offset_size = 8;               ///< bytes per address
  int length_size = 8;               ///< bytes per length
  uint64_t root_address = 0;         ///< object header of the root group
  std::shared_ptr<LinkCache> links;  ///< groups read so far
  bool verifies_checksums = true;    ///< of values, where Nyala wrote them

  uint64_t size() const { return bytes.size(); }
};

using ImagePtr = std::shared_ptr<const Image>;

/// Throws FileFormatError "<file>: object '<path>', byte <offset>: <reason>".
[[noreturn]] void throw_format_error(const Image& image, const std::string& path, const Fault& fault);

/// Runs f; a Fault in it becomes a FileFormatError naming the file and the object at `path`.
template <class F>
decltype(auto) at_object(const Image& image, const std::string& path, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Fault& fault) {
    throw_format_error(image, path, fault);
  }
}

}  // namespace nyala::hdf5
