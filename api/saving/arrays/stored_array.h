#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

class FileBytes;

/// An array of a file by name. Where it says what it holds was looked at; its values are read when they are
/// asked for.
struct StoredArray {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  /// The values, on the host. Throws IoError, FileFormatError.
  std::function<Tensor()> read;
  /// Copies them to memory for as many of `dtype`; empty where they must be unpacked or converted.
  std::function<void(std::span<std::byte>)> copy = {};
  /// Whether the file lies in memory, while only reading finds what is damaged in it.
  bool reads_ahead = false;
};
using StoredArrays = std::vector<StoredArray>;

/// One that reads ahead, read: whatever is damaged is found before anything changes. Others as they are.
StoredArray read_ahead(const StoredArray& array);
NamedArrays read_all(const StoredArrays& arrays);
/// Gives the variable the values, which have its shape. Where it has them in one place of the host they are
/// copied there straight from the file.
void load_array(const Variable& variable, const StoredArray& array);

/// The arrays of a `.safetensors` and of an `.npz` file. Throw as load_safetensors and load_npz.
StoredArrays stored_safetensors(const std::shared_ptr<const FileBytes>& file);
StoredArrays stored_npz(const std::shared_ptr<const FileBytes>& file,
                        const std::vector<std::string>& names = {});

}  // namespace nyala
