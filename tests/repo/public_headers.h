#pragma once

#include <set>
#include <string>

namespace nyala::repo {

/// The headers that are installed, relative to the root: those that cmake/NyalaPublicHeaders.cmake names and
/// all that they include.
const std::set<std::string>& public_headers();

}  // namespace nyala::repo
