#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/files/hdf5/metadata/attributes.h>

namespace nyala::hdf5 {

/// An array in a file: a handle that keeps the file's bytes alive. May be read by several threads at once.
/// Members throw FileFormatError naming file, path, byte and reason.
///
/// Refused when opened: external storage, virtual datasets, more than Shape::kMaxRank axes, unknown element
/// types and filters, and a declared size above 4 GiB that is more than 1000 times what the file stores
/// (above 256 MiB: 1100 times, more than deflate can reach).
class Dataset {
 public:
  /// Used by Group. Throws FileFormatError.
  Dataset(ImagePtr image, std::string path, ObjectHeader header);

  /// From the root, "/layers/dense/vars/0".
  const std::string& path() const;
  /// () for a scalar, (0) for a dataset without any element.
  const Shape& shape() const;
  /// The dtype of the values in memory: the stored one, or for integers that Nyala lacks the next larger one
  /// (int8, int16, uint16 -> int32; uint32, uint64 -> int64). Opaque data are bfloat16 where the attribute
  /// `dtype` says so, as Keras stores it. Throws for strings and other opaque data.
  DType dtype() const;
  bool is_string() const;
  Attributes attributes() const;

  /// Bytes of all values in memory: num_elements * size_of(dtype()).
  size_t byte_size() const;
  /// What the values may take in memory where the file really holds them, at 4 bytes or more an element: 0
  /// where it stores less than the tightest packing could make of them.
  uint64_t backed_bytes() const;
  /// Reads all values, row by row, in native byte order, into `out` (exactly byte_size() bytes). Parts that
  /// the file does not store get its fill value. Values with the checksum that Nyala writes (attribute
  /// kChecksum) are compared with it. Throws InvalidArgumentError for another size of `out`.
  void read(std::span<std::byte> out) const;
  /// Whether a large file holds the values as memory does, in one piece: read() copies them from there.
  bool waits_in_file() const;
  /// The values where they lie in memory, without a copy, compared with their checksum; nothing where they
  /// wait in a file, or have to be converted, unpacked or filled. Not necessarily aligned. Valid as long as
  /// `owner()` lives.
  std::optional<std::span<const std::byte>> view() const;
  std::shared_ptr<const void> owner() const;

  /// The attribute with the CRC-32C of the values as they lie in memory, row by row, an unsigned integer.
  static constexpr const char* kChecksum = "nyala_crc32c";

  /// All values as T, whose dtype must be dtype(); DTypeError otherwise. Not for bool: std::vector<bool> has
  /// no bytes.
  template <class T>
  std::vector<T> values() const {
    static_assert(!std::is_same_v<T, bool>);
    check_dtype(dtype_of<T>);
    std::vector<T> all(byte_size() / sizeof(T));
    read(std::as_writable_bytes(std::span<T>(all)));
    return all;
  }
  /// All elements as text. Throws for a dataset that holds no strings.
  std::vector<std::string> strings() const;

 private:
  struct State;

  void check_dtype(DType wanted) const;

  std::shared_ptr<const State> state_;
};

}  // namespace nyala::hdf5
