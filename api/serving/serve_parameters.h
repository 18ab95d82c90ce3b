#pragma once

#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala {

struct ServeConfig {
  /// Which processes there are and which of them this is; nothing: as choose_cluster_resolver() finds out.
  ClusterResolverOption cluster_resolver = {};
  /// Where snapshots are written (ps-0.snapshot, ...), and read from at the start: a server that is started
  /// again goes on from its own. Made where it is not there. Empty: what NYALA_SNAPSHOTS says, which `nyala
  /// launch` sets, else there are none. A folder is for one job: what lies there when the first server starts
  /// is taken for its own.
  std::string snapshot_folder = {};
};

/// Whether this process is of job "ps" in its cluster: `if (is_parameter_server()) return
/// serve_parameters();` as the first line of main(). Throws what the resolver throws.
bool is_parameter_server(const ServeConfig& config = {});

/// Keeps variables for a ParameterServerStrategy until its chief ends the job, and returns 0; after SIGTERM
/// it writes a snapshot and returns 143, a second one ends the process at once. Optimizers come as Keras'
/// JSON: those of a program's own have to be registered (register_serializable) in this process, too, so it
/// is the same program that serves. Throws InvalidArgumentError for a cluster without job chief, worker or ps
/// and for an address that others could reach while nothing protects it, StateError in a process that is not
/// of job ps, IoError for an address that is taken or a folder that cannot be made, NotFoundError in a build
/// without gRPC.
int serve_parameters(const ServeConfig& config = {});

}  // namespace nyala
