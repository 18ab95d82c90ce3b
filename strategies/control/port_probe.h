#pragma once

#include <chrono>

#include <nyala/strategies/cluster/address.h>

namespace nyala::detail {

enum class PortState {
  open,     ///< somebody listens, alive or frozen
  refused,  ///< the machine is there, and nobody listens: who did has ended
  silent,   ///< nothing is known: no answer in time, no way there, an unknown name
};

/// Asks by TCP whether somebody listens there.
PortState probe_port(const HostPort& address, std::chrono::milliseconds timeout);

}  // namespace nyala::detail
