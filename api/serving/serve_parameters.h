#pragma once

#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala {

struct ServeConfig {
  /// Which processes there are and which of them this is; nothing: as choose_cluster_resolver() finds out.
  ClusterResolverOption cluster_resolver = {};
};

/// Whether this process is of job "ps" in its cluster: `if (is_parameter_server()) return serve_parameters();`
/// as the first line of main(). Throws what the resolver throws.
bool is_parameter_server(const ServeConfig& config = {});

/// Keeps variables for a ParameterServerStrategy until its chief ends the job, and returns 0. Optimizers come
/// as Keras' JSON: those of a program's own have to be registered (register_serializable) in this process, too,
/// so it is the same program that serves. Throws InvalidArgumentError for a cluster without job chief, worker
/// or ps and for an address that others could reach while nothing protects it, StateError in a process that is
/// not of job ps, IoError for an address that is taken, NotFoundError in a build without gRPC.
int serve_parameters(const ServeConfig& config = {});

}  // namespace nyala
