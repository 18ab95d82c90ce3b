#pragma once

#include <string>

namespace nyala::repo {

/// fwd.h as the headers ask for: a declaration of every class, struct and enumeration of the public headers
/// that the pages below docs name, of the configurations of those, and of nothing else.
std::string forward_page();

}  // namespace nyala::repo
