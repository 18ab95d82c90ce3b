#pragma once

#include <string_view>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/number.h>

namespace nyala::detail {

/// Throws InvalidArgumentError naming `where` for a value that an integer dtype does not hold, where a cast
/// would leave another one. A fraction counts as the integer towards 0, to which it is cut. Floating dtypes
/// hold every value, those above their range as infinity, and bool whether it is 0.
void check_holds(DType dtype, Number value, std::string_view where);

}  // namespace nyala::detail
