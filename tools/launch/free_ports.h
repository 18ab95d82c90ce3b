#pragma once

#include <vector>

namespace nyala::tools {

/// Ports of 127.0.0.1 on which nobody listens now. Throws IoError where there are not so many.
std::vector<int> free_ports(int count);

}  // namespace nyala::tools
