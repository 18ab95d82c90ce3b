#pragma once

#include <vector>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala::detail {

enum class ParameterServerRole { chief, worker, server };

/// What a process of a cluster with parameter servers is, and where the others are.
struct ParameterServerCluster {
  ParameterServerRole role = ParameterServerRole::chief;
  HostPort chief = {};
  HostPort own = {};  ///< of a server: where it listens
  std::vector<HostPort> servers = {};
  int worker = 0, workers = 1;  ///< of a worker: which of how many it is
};

/// Throws InvalidArgumentError for a cluster without job chief, worker or ps, for an address that is none,
/// and for a process that is none of these.
ParameterServerCluster parameter_server_cluster(const ClusterResolver& resolver);

}  // namespace nyala::detail
