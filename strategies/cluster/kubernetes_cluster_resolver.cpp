// Names of pods: kubernetes.io/docs, "Indexed Job for Parallel Processing" and "StatefulSets".
#include <nyala/strategies/cluster/kubernetes_cluster_resolver.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/cluster/first_worker.h>

namespace nyala {

namespace {

constexpr const char* kIndexVariable = "JOB_COMPLETION_INDEX";

struct PodName {
  std::string job, index;
};

PodName pod_name(const Environment& environment) {
  const std::string name = detail::required_variable(
      environment, {.name = "HOSTNAME", .hint = "Kubernetes sets it to the name of the pod; give job_name."});
  const size_t dash = name.rfind('-');
  const std::string index = dash == std::string::npos ? "" : name.substr(dash + 1);
  const std::string job_index = environment.get(kIndexVariable).value_or(index);
  if (!detail::parse_whole_number(index, 0, detail::kMostWorkers) || index != job_index)
    detail::throw_wrong_setting(
        "HOSTNAME",
        "the name of a pod that ends with its index, such as train-" + (job_index.empty() ? "0" : job_index),
        detail::in_quotes(name), "The Job has to be Indexed (completionMode: Indexed); else give job_name.");
  return {name.substr(0, dash), index};
}

}  // namespace

KubernetesClusterResolver::KubernetesClusterResolver(const Config& config)
    : EnvironmentResolver(config.rpc_layer) {
  const Environment& environment = config.environment;
  const std::string hint = "Set it in the pod's env, or give it to the resolver.";
  const int size =
      config.num_workers > 0
          ? config.num_workers
          : detail::required_number(environment, {"NYALA_NUM_WORKERS", 1, detail::kMostWorkers, hint});
  const std::string service =
      config.service.empty()
          ? detail::required_host(environment, {.name = "NYALA_SERVICE",
                                                .hint = "It names the headless service of the pods. " + hint})
          : config.service;
  if (config.port < 1 || config.port > 65535)
    detail::throw_wrong_setting("KubernetesClusterResolver: port", "1 to 65535", std::to_string(config.port));
  const std::string job = config.job_name.empty() ? pod_name(environment).job : config.job_name;
  const Environment index = environment.has(kIndexVariable)
                                ? environment
                                : Environment({{kIndexVariable, pod_name(environment).index}});
  task_id_ = detail::required_number(
      index, {kIndexVariable, 0, size - 1, "There are " + std::to_string(size) + " workers."});
  std::vector<std::string> addresses;
  for (int i = 0; i < size; ++i)
    addresses.push_back(job + "-" + std::to_string(i) + "." + service + ":" + std::to_string(config.port));
  cluster_ = ClusterSpec({{"worker", addresses}});
  check_cluster(cluster_, {"worker", task_id_}, "KubernetesClusterResolver");
}

}  // namespace nyala
