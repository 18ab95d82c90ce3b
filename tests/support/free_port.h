#pragma once

#include <nyala/strategies/cluster/free_ports.h>

namespace nyala {

/// A TCP port of the loopback where nobody listens now.
inline int free_port() { return detail::free_ports(1).front(); }

}  // namespace nyala
