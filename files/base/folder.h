#pragma once

#include <string>
#include <vector>

namespace nyala {

/// The names of what lies in a folder, but for "." and "..", in no order. Throws IoError naming the folder where it
/// cannot be read, and OutOfMemoryError where there is no memory for that: std::filesystem's iterators end the
/// process then (libstdc++ 12 builds its paths inside of noexcept).
std::vector<std::string> names_in_folder(const std::string& folder);

}  // namespace nyala
