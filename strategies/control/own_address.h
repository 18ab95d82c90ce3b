#pragma once

#include <string>

#include <nyala/strategies/cluster/address.h>

namespace nyala::detail {

/// The address of this machine from which packets go to `other`: who is there, or beyond, can answer to it.
/// "" where no way leads there, or the name is not known. Sends nothing.
std::string address_towards(const HostPort& other);

/// Whether the name stands for this machine to itself alone, as a machine's own name often does on itself. A
/// name that is not known does not.
bool resolves_to_loopback(const std::string& host);

/// The same text for processes that can share memory: of one user on one host, who see each other's numbers.
std::string place_of_process();

}  // namespace nyala::detail
