#pragma once

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

/// Connects this process to the cluster that `resolver` describes (nothing: as choose_cluster_resolver()
/// finds out), as the task that it names, by the strategy that goes with its jobs: ParameterServerStrategy
/// where there is a job ps, MultiWorkerMirroredStrategy where there are several processes without, and
/// MirroredStrategy in a process that is alone; each with its defaults. Throws what their constructors throw.
Strategy connect(const ClusterResolverOption& resolver = {});

}  // namespace nyala
