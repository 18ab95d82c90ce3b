#pragma once

#include <string>

#include <nyala/backend/core/tensor.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// Nested lists of numbers as float64. Throws FileFormatError naming `where` unless all rows are of one
/// length.
Tensor tensor_of_numbers(const Json& json, const std::string& where);

/// A tensor that no layer made, in an operation's arguments: a number, or Keras' __tensor__ with all of its
/// numbers.
Json constant_to_json(const Tensor& constant);
/// The same of any shape, as a __numpy__ with its numbers as they are.
Json array_to_json(const Tensor& constant);
/// Whether it is a __tensor__ or NumPy's __numpy__.
bool is_constant(const Json& json);
/// The tensor of such JSON. Throws FileFormatError naming `where`, also for a number that the dtype cannot
/// hold.
Tensor constant_from_json(const Json& json, const std::string& where);

}  // namespace nyala
