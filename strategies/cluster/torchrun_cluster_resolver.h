#pragma once

#include <string>

#include <nyala/strategies/cluster/environment_resolver.h>

namespace nyala {

struct TorchrunClusterResolverConfig {
  std::string rpc_layer = "grpc";
  Environment environment = {};
};

/// The processes that torchrun (or a PyTorchJob) started, from the variables RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT. All are workers; the address of worker 0 is MASTER_ADDR with the port behind MASTER_PORT,
/// which torchrun itself listens on, and those of the others are empty. Read once, when the resolver is made.
class TorchrunClusterResolver final : public detail::EnvironmentResolver {
 public:
  using Config = TorchrunClusterResolverConfig;
  /// Throws NotFoundError for a variable that is not set, InvalidArgumentError for one with another form.
  explicit TorchrunClusterResolver(const Config& config = {});
};

}  // namespace nyala
