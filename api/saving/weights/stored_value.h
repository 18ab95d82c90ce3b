#pragma once

#include <optional>

#include <nyala/api/saving/arrays/stored_array.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/files/hdf5/dataset.h>

namespace nyala {

/// A value of an HDF5 file that is read when it is asked for, out of a large file to where it belongs. What
/// lies in memory, and what must be unpacked or converted, was looked at when this was made.
class StoredValue {
 public:
  /// Throws FileFormatError.
  explicit StoredValue(const hdf5::Dataset& dataset);

  const Shape& shape() const { return dataset_.shape(); }
  DType dtype() const { return dataset_.dtype(); }
  /// On the host; bytes of the file itself where it lies in memory and they are aligned, so not to be written
  /// to. Throws IoError for a large file that was changed, FileFormatError for one whose values are not those
  /// of their checksum.
  Tensor read() const;
  /// For load_array(): what waits in a large file is copied straight to where it belongs.
  StoredArray array() const;

 private:
  hdf5::Dataset dataset_;
  std::optional<Tensor> ready_;
};

}  // namespace nyala
