#pragma once

#include <map>
#include <string>
#include <vector>

#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala {

struct UnionResolverConfig {
  std::vector<ClusterResolverOption> resolvers = {};
  std::string rpc_layer = "";  ///< these in place of what the first resolver says
  std::string task_type = "";
  int task_id = -1;
};

/// Several resolvers as one, TensorFlow's UnionClusterResolver: the jobs of all; what there is only one of
/// (task, protocol, accelerators) is that of the first. Lists of one job follow each other; where a job has
/// indices left out in one of them, tasks keep their indices.
class UnionResolver final : public ClusterResolver {
 public:
  using Config = UnionResolverConfig;
  /// Throws InvalidArgumentError without a resolver.
  explicit UnionResolver(Config config);

  /// Throws InvalidArgumentError for a task that two resolvers name.
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  int task_id() const override;
  std::string rpc_layer() const override;
  /// Without a task that of the first resolver.
  std::string master(const MasterConfig& config = {}) const override;
  std::map<std::string, int> num_accelerators() const override;

 private:
  const ClusterResolver& first() const { return *config_.resolvers.front().get(); }

  Config config_;
};

}  // namespace nyala
