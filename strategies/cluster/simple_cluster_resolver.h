#pragma once

#include <map>
#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala {

struct SimpleClusterResolverConfig {
  ClusterSpec cluster_spec = {};
  std::string master = "";
  std::string task_type = "";
  int task_id = -1;
  std::map<std::string, int> num_accelerators = {};
  std::string rpc_layer = "grpc";
};

/// Says what it was told. Nothing is checked before a strategy uses it, since it may be one part of a
/// UnionResolver.
class SimpleClusterResolver final : public ClusterResolver {
 public:
  using Config = SimpleClusterResolverConfig;
  explicit SimpleClusterResolver(Config config = {});

  ClusterSpec cluster_spec() const override { return config_.cluster_spec; }
  std::string task_type() const override { return config_.task_type; }
  int task_id() const override { return config_.task_id; }
  std::string rpc_layer() const override { return config_.rpc_layer; }
  /// Without a task that of the Config.
  std::string master(const MasterConfig& config = {}) const override;
  /// Without numbers in the Config those of this process.
  std::map<std::string, int> num_accelerators() const override;

 private:
  Config config_;
};

}  // namespace nyala
