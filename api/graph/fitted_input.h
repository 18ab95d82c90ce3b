#pragma once

#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// `x` as an input of a model that was made for `expected`, whose first axis is that of the rows and may have
/// any size: as it is, or with a last axis of size 1 more or less, as in Keras. Throws ShapeError naming
/// model and input, and what to do where the axis of the rows is missing.
Tensor fitted_input(const Tensor& x, const Shape& expected, const std::string& model, size_t index);

}  // namespace nyala
