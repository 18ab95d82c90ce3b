#include <nyala/strategies/cluster/simple_cluster_resolver.h>

namespace nyala {

SimpleClusterResolver::SimpleClusterResolver(Config config) : config_(std::move(config)) {}

std::string SimpleClusterResolver::master(const MasterConfig& config) const {
  if (!config.task_type.empty() && config.task_id >= 0) return ClusterResolver::master(config);
  return detail::master_url(config_.master, config.rpc_layer.empty() ? config_.rpc_layer : config.rpc_layer);
}

std::map<std::string, int> SimpleClusterResolver::num_accelerators() const {
  return config_.num_accelerators.empty() ? ClusterResolver::num_accelerators() : config_.num_accelerators;
}

}  // namespace nyala
