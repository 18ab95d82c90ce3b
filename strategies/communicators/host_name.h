#pragma once

#include <string>

namespace nyala::detail {

/// What this machine calls itself, for messages and to find ranks of one host; "this host" where it does not
/// say.
const std::string& host_name();

}  // namespace nyala::detail
