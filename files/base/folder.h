#pragma once

#include <string>
#include <vector>

namespace nyala {

/// The names of what lies in a folder, but for "." and "..", in no order. Throws IoError naming the folder
/// where it cannot be read, and OutOfMemoryError where there is no memory for that: std::filesystem's
/// iterators end the process then (libstdc++ 12 builds its paths inside of noexcept).
std::vector<std::string> names_in_folder(const std::string& folder);

/// Makes the folder and those above it, where they are not there. Throws IoError: "`who`: cannot make the
/// folder for `what` 'folder': reason".
void make_folder(const std::string& who, const std::string& what, const std::string& folder);

}  // namespace nyala
