#pragma once

#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala {

struct TorchrunClusterResolverConfig {
  std::string rpc_layer = "grpc";
  Environment environment = {};
};

/// The processes that torchrun (or a PyTorchJob) started, from the variables RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT. All are workers; the address of worker 0 is MASTER_ADDR with the port behind MASTER_PORT,
/// which torchrun itself listens on, and those of the others are empty. Read once, when the resolver is made.
class TorchrunClusterResolver final : public ClusterResolver {
 public:
  using Config = TorchrunClusterResolverConfig;
  /// Throws NotFoundError for a variable that is not set, InvalidArgumentError for one with another form.
  explicit TorchrunClusterResolver(const Config& config = {});

  ClusterSpec cluster_spec() const override { return cluster_; }
  std::string task_type() const override { return "worker"; }
  int task_id() const override { return task_id_; }
  std::string rpc_layer() const override { return rpc_layer_; }

 private:
  ClusterSpec cluster_;
  std::string rpc_layer_;
  int task_id_ = 0;
};

}  // namespace nyala
