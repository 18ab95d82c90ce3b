#pragma once

#include <string>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/cluster_spec.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

/// More than that many processes are a mistake.
inline constexpr int kMostWorkers = 1'000'000;

/// A cluster of `count` workers of which only the first one's address is known.
ClusterSpec workers_behind(const HostPort& first, int count);

/// A host's name or address from a variable. Throws as required_number().
std::string required_host(const Environment& environment, const VariableRule& rule);

/// A port between 20000 and 32767, below those that systems give out by themselves, that is the same for the
/// same text.
int port_of_text(const std::string& text);

}  // namespace nyala::detail
