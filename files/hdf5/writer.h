#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/files/hdf5/file_parts.h>

namespace nyala::hdf5 {

/// How an array of strings is stored: elements of the longest one's length, padded with NUL (Keras 2), or
/// each with its own length (Keras 3).
enum class StringStorage { fixed, variable };

/// Whether each dataset with values carries their checksum in an attribute, Dataset::kChecksum, and the root
/// that of all names, kNamesChecksum.
enum class Checksums { none, crc32c };

/// Builds an HDF5 file the way Keras' files are: superblock 0, old-style groups, contiguous datasets without
/// filters, no times (equal content gives equal bytes). Only what describes the values is built in memory;
/// the values of a tensor go from where they lie to the disk. Several writers may be used by several threads
/// at once, one writer by one at a time.
///
/// Paths are absolute ("/layers/dense/vars/0"; the leading '/' may be missing); groups on the way are made. A
/// path or name that is empty, contains NUL, or stands there already as something else throws
/// InvalidArgumentError, and so does a group deeper than 128, which Group would not read.
class Writer {
 public:
  explicit Writer(Checksums checksums = Checksums::none);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  /// A group that exists already is fine.
  void create_group(std::string_view path);

  /// Stores `values` (num_elements * size_of(dtype) bytes, row by row). bool becomes h5py's enum, bfloat16
  /// opaque data of 2 bytes with the attribute dtype = "bfloat16", as in Keras; all others are native
  /// little-endian types. Throws InvalidArgumentError for another size of `values` and for a path that
  /// exists.
  void write_dataset(std::string_view path, DType dtype, const Shape& shape,
                     std::span<const std::byte> values);
  /// The same without a copy: the tensor's values are read when the file is written and must not change until
  /// then.
  void write_dataset(std::string_view path, const Tensor& values);
  /// The same for a range of numbers.
  template <class T>
  void write_dataset(std::string_view path, const Shape& shape, std::span<const T> values) {
    write_dataset(path, dtype_of<T>, shape, std::as_bytes(values));
  }

  /// Gives the group or dataset at `path` a text attribute: scalar, variable length, UTF-8. Replaces one of
  /// that name.
  void set_attribute(std::string_view path, const std::string& name, std::string_view value);
  /// A one-dimensional array of strings. No strings at all become an empty float64 array, as Keras writes it.
  /// Throws InvalidArgumentError where the array takes more than kMaxAttributeBytes in the object header:
  /// split it, as Keras does ("layer_names0", "layer_names1", ...).
  void set_attribute(std::string_view path, const std::string& name, const std::vector<std::string>& values,
                     StringStorage storage);

  /// Keras' own limit for an array attribute; the format's is 64 KiB with its header.
  static constexpr size_t kMaxAttributeBytes = 64512;

  /// Ends the file and returns it as parts, which may be sent to a disk or an archive. The writer is empty
  /// afterwards: any further call throws StateError.
  FileParts finish_parts();
  /// finish_parts() put together in memory, for File::from_bytes.
  FileImage finish();
  /// finish_parts(), then replaces the file at `path` in one step (see AtomicFile). Throws IoError.
  void save(const std::string& path);

 private:
  struct State;
  State& state();
  void replace_attribute(std::string_view path, const std::string& name);

  std::unique_ptr<State> state_;
};

}  // namespace nyala::hdf5
