#include <nyala/strategies/cluster/cluster_resolver.h>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

std::string ClusterResolver::master(const MasterConfig& config) const {
  const ClusterSpec cluster = cluster_spec();
  const std::string type = config.task_type.empty() ? task_type() : config.task_type;
  const int id = config.task_id < 0 ? task_id() : config.task_id;
  if (cluster.empty() || type.empty() || id < 0) return "";
  return detail::master_url(cluster.task_address(type, id),
                            config.rpc_layer.empty() ? rpc_layer() : config.rpc_layer);
}

std::map<std::string, int> ClusterResolver::num_accelerators() const {
  const int gpus = static_cast<int>(list_logical_devices("gpu").size());
  return gpus == 0 ? std::map<std::string, int>() : std::map<std::string, int>{{"GPU", gpus}};
}

std::string detail::master_url(const std::string& address, const std::string& rpc_layer) {
  return address.empty() || rpc_layer.empty() ? address : rpc_layer + "://" + address;
}

}  // namespace nyala
