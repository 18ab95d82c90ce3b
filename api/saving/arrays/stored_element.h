#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <nyala/backend/core/tensor.h>
#include <nyala/files/base/stored_bytes.h>

namespace nyala {

/// An element type of files of arrays.
struct StoredElement {
  size_t bytes = 0;
  DType dtype = DType::float32;                                // in memory
  void (*widen)(std::span<const std::byte>, void*) = nullptr;  // null: the same bytes
};

/// By NumPy's kind and size: "f4", "i8", "b1"; "bf2" is bfloat16. Integers that Nyala lacks become the next
/// larger ones. Null for anything else.
const StoredElement* find_stored_element(std::string_view code);

enum class ByteOrder { native, swapped };

/// A tensor on the host with the values of `bytes`, which has exactly as many as the shape takes.
Tensor read_elements(const StoredElement& element, const StoredBytes& bytes, const Shape& shape,
                     ByteOrder order = ByteOrder::native);

}  // namespace nyala
