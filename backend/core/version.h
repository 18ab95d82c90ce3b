#pragma once

#include <string_view>

namespace nyala {

/// The version of the library that is linked, "major.minor.patch" (semantic versioning).
std::string_view version();

}  // namespace nyala
