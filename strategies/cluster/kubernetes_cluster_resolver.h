#pragma once

#include <string>

#include <nyala/strategies/cluster/environment_resolver.h>

namespace nyala {

struct KubernetesClusterResolverConfig {
  int num_workers = 0;        ///< 0: as the variable NYALA_NUM_WORKERS says
  std::string service = "";   ///< the headless service of the pods; empty: as NYALA_SERVICE says
  std::string job_name = "";  ///< of the job or set; empty: HOSTNAME without the index at its end
  int port = 8470;            ///< that worker 0 listens on
  std::string rpc_layer = "grpc";
  Environment environment = {};
};

/// The pods of an Indexed Job or a StatefulSet, from the variables that their containers have: HOSTNAME
/// ("job-2") and, in a Job, JOB_COMPLETION_INDEX. All are workers, worker i is "job-i.service:port". The API
/// server is not asked (TensorFlow's is), so no rights are needed. Read once, when the resolver is made. A
/// Kubeflow TFJob is found by TFConfigClusterResolver, a PyTorchJob by TorchrunClusterResolver.
class KubernetesClusterResolver final : public detail::EnvironmentResolver {
 public:
  using Config = KubernetesClusterResolverConfig;
  /// Throws NotFoundError for a variable that is not set, InvalidArgumentError for one with another form and
  /// for a port outside 1 to 65535.
  explicit KubernetesClusterResolver(const Config& config = {});
};

}  // namespace nyala
