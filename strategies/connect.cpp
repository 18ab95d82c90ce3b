#include <nyala/strategies/connect.h>

#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/multi_worker.h>
#include <nyala/strategies/parameter_server_strategy.h>

namespace nyala {

Strategy connect(const ClusterResolverOption& resolver) {
  const ClusterResolverOption chosen = choose_cluster_resolver(resolver).resolver;
  const ClusterSpec cluster = chosen.get()->cluster_spec();
  if (cluster.has_job("ps")) return ParameterServerStrategy({.cluster_resolver = chosen});
  if (cluster.empty()) return MirroredStrategy();
  return MultiWorkerMirroredStrategy({.cluster_resolver = chosen});
}

}  // namespace nyala
