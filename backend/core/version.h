#pragma once

#include <string_view>

// The version of the headers, for the preprocessor. It is written here and nowhere else: CMake reads it.
#define NYALA_VERSION_MAJOR 0
#define NYALA_VERSION_MINOR 1
#define NYALA_VERSION_PATCH 0

namespace nyala {

/// The version of the library that is linked, "major.minor.patch" (semantic versioning).
std::string_view version();

}  // namespace nyala
