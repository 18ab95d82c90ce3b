#pragma once

#include <optional>

#include <nyala/api/saving/hdf5/dataset.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// A value of an HDF5 file that can be read without fail, unless the file becomes shorter. Where the file
/// holds it as memory would, it stays there until it is asked for; what must be unpacked or converted was
/// read when this was made.
class StoredValue {
 public:
  /// Throws FileFormatError.
  explicit StoredValue(const hdf5::Dataset& dataset);

  const Shape& shape() const { return dataset_.shape(); }
  DType dtype() const { return dataset_.dtype(); }
  /// On the host; bytes of the file itself where it lies in memory and they are aligned, so not to be written
  /// to. Throws IoError for a file that became shorter.
  Tensor read() const;
  /// Says that the bytes in the file are not needed for now.
  void forget() const noexcept { dataset_.forget(); }

 private:
  hdf5::Dataset dataset_;
  std::optional<Tensor> ready_;
};

}  // namespace nyala
