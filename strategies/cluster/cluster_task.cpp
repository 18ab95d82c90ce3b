#include <nyala/strategies/cluster/cluster_task.h>

#include <algorithm>
#include <map>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala {

namespace {

const std::vector<std::string>& task_types() {
  static const auto& types = *new std::vector<std::string>{"chief", "worker", "ps", "evaluator"};
  return types;
}

int count_of(const ClusterSpec& cluster, const std::string& job) {
  return cluster.has_job(job) ? cluster.num_tasks(job) : 0;
}

void check_task_type(const std::string& type, const std::string& where) {
  const std::vector<std::string>& known = task_types();
  if (std::find(known.begin(), known.end(), type) == known.end())
    detail::throw_wrong_setting(where, "one of " + detail::quoted_list(known),
                                detail::in_quotes(type) + detail::did_you_mean(type, known));
}

void check_jobs(const ClusterSpec& cluster, const std::string& where) {
  for (const std::string& job : cluster.jobs()) {
    check_task_type(job, where + ": job in the cluster");
    const int count = cluster.num_tasks(job);
    const std::string tasks = where + ": job " + detail::in_quotes(job);
    if (count == 0)
      detail::throw_wrong_setting(tasks, "at least one address", "none", "Leave out a job without tasks.");
    if (count > 1 && (job == "chief" || job == "evaluator"))
      detail::throw_wrong_setting(tasks, "one address", std::to_string(count),
                                  "Further processes that train are of job 'worker'.");
    if (cluster.task_indices(job).back() + 1 != count)
      detail::throw_wrong_setting(
          tasks, "indices 0 to " + std::to_string(count - 1),
          "a cluster in which index " + std::to_string(cluster.task_indices(job).back()) + " is the last");
  }
}

void check_addresses(const ClusterSpec& cluster, const std::string& where) {
  std::map<std::string, std::string> owners;
  const ClusterTask leader = coordination_leader(cluster);
  for (const std::string& job : cluster.jobs())
    for (const int index : cluster.task_indices(job)) {
      const ClusterTask task{job, index};
      const std::string& address = cluster.task_address(job, index);
      if (address.empty() && task != leader) continue;
      if (!detail::parse_address(address))
        detail::throw_wrong_setting(where + ": address of " + task.to_string(), detail::kAddressForm,
                                    detail::in_quotes(address), "For example worker0.example.com:2222.");
      const auto [other, is_new] = owners.emplace(address, task.to_string());
      if (!is_new)
        detail::throw_wrong_setting(where + ": address of " + task.to_string(), "one that no other task has",
                                    detail::in_quotes(address) + ", which is that of " + other->second,
                                    "Processes on one host need a port each.");
    }
}

}  // namespace

void check_cluster(const ClusterSpec& cluster, const ClusterTask& task, const std::string& where) {
  if (!cluster.empty()) {
    check_jobs(cluster, where);
    check_addresses(cluster, where);
    check_task_type(task.type, where + ": type of this task");
  }
  const bool is_outside = cluster.empty() || (task.type == "evaluator" && !cluster.has_job("evaluator"));
  if (is_outside) return;
  if (!cluster.has_job(task.type))
    detail::throw_wrong_setting(
        where + ": type of this task", "a job of the cluster (" + detail::quoted_list(cluster.jobs()) + ")",
        detail::in_quotes(task.type), "Every process but an evaluator stands in the cluster itself.");
  const int count = cluster.num_tasks(task.type);
  if (task.id < 0 || task.id >= count)
    detail::throw_wrong_setting(where + ": index of this task",
                                (count == 1 ? "0" : "0 to " + std::to_string(count - 1)) + " (job " +
                                    detail::in_quotes(task.type) + " has " + std::to_string(count) +
                                    (count == 1 ? " task)" : " tasks)"),
                                std::to_string(task.id), "Indices begin with 0 in each job.");
}

int worker_count(const ClusterSpec& cluster, const ClusterTask& task) {
  if (cluster.empty() || task.type == "evaluator") return 1;
  return count_of(cluster, "chief") + count_of(cluster, "worker");
}

int id_in_cluster(const ClusterSpec& cluster, const ClusterTask& task) {
  if (cluster.empty() || task.type == "evaluator" || task.type == "chief") return 0;
  if (task.type == "worker") return task.id + count_of(cluster, "chief");
  throw InvalidArgumentError("a task of job " + detail::in_quotes(task.type) +
                             " has no rank: it does not train");
}

bool is_chief(const ClusterSpec& cluster, const ClusterTask& task) {
  if (cluster.empty() || task.type == "chief" || task.type == "evaluator") return true;
  return task.type == "worker" && task.id == 0 && !cluster.has_job("chief");
}

bool is_chief(const ClusterResolver& resolver) {
  return is_chief(resolver.cluster_spec(), {resolver.task_type(), resolver.task_id()});
}

ClusterTask coordination_leader(const ClusterSpec& cluster) {
  for (const char* job : {"ps", "chief", "worker"})
    if (cluster.has_job(job)) return {job, 0};
  throw InvalidArgumentError("expected a cluster with workers, received " + cluster.to_string());
}

}  // namespace nyala
