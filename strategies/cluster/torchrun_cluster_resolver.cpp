#include <nyala/strategies/cluster/torchrun_cluster_resolver.h>

#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/cluster/first_worker.h>

namespace nyala {

TorchrunClusterResolver::TorchrunClusterResolver(const Config& config)
    : EnvironmentResolver(config.rpc_layer) {
  const Environment& environment = config.environment;
  const std::string hint = "torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together.";
  const int size = detail::required_number(environment, {"WORLD_SIZE", 1, detail::kMostWorkers, hint});
  task_id_ = detail::required_number(environment, {"RANK", 0, size - 1, hint});
  const std::string host = detail::required_host(environment, {.name = "MASTER_ADDR", .hint = hint});
  const int port = detail::required_number(environment, {"MASTER_PORT", 1, 65534, hint});
  cluster_ = detail::workers_behind({host, port + 1}, size);
}

}  // namespace nyala
