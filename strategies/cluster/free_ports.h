#pragma once

#include <vector>

namespace nyala::detail {

/// Ports of 127.0.0.1 on which nobody listens now. Throws IoError where there are not so many.
std::vector<int> free_ports(int count);

/// The same, of those that the system gives to no outgoing connection: one whose listener ended is still free
/// when it is started again, although others try to connect all the while. Where the system leaves too few,
/// free_ports().
std::vector<int> lasting_ports(int count);

}  // namespace nyala::detail
