#pragma once

#include <string>

#include <nyala/strategies/cluster/environment_resolver.h>

namespace nyala {

struct TFConfigClusterResolverConfig {
  std::string task_type = "";  ///< in place of the variable's task.type
  int task_id = -1;            ///< in place of its task.index
  std::string rpc_layer = "";  ///< in place of its rpc_layer
  Environment environment = {};
};

/// Reads the variable TF_CONFIG, as TensorFlow does and nyala launch and Kubeflow write it:
/// `{"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...]}, "task": {"type": "worker", "index":
/// 0}}`. Without it, or where it is `{}`, the process is the only one. An index may be a text ("0"), a job
/// may be an object from indices to addresses, "master" is the old name of "chief", and an evaluator need not
/// be in the cluster. Read once, when the resolver is made.
class TFConfigClusterResolver final : public detail::EnvironmentResolver {
 public:
  using Config = TFConfigClusterResolverConfig;
  /// Throws InvalidArgumentError naming TF_CONFIG, the place in it, what was expected and what is there; also
  /// for what check_cluster() refuses.
  explicit TFConfigClusterResolver(const Config& config = {});

  /// The variable's "session_master" where it has one.
  std::string master(const MasterConfig& config = {}) const override;

 private:
  std::string session_master_;
};

}  // namespace nyala
