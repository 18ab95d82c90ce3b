#pragma once

#include <string_view>

#include <nyala/backend/core/shape.h>

namespace nyala::detail {

/// Allows a symbolic tensor of this shape, with an unknown size: inside a layer's call() that is traced,
/// where what a layer makes has as many rows as its input. Throws ShapeError naming `what` elsewhere.
void check_traced(const Shape& shape, std::string_view what);

}  // namespace nyala::detail
