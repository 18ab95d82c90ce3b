#include <nyala/strategies/parameter_server/parameter_server_cluster.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/cluster_task.h>

namespace nyala::detail {

namespace {

constexpr const char* kWhere = "ParameterServerStrategy";

HostPort address_of(const ClusterSpec& cluster, const std::string& job, int index) {
  const std::string& text = cluster.task_address(job, index);
  const std::optional<HostPort> address = parse_address(text);
  if (!address)
    throw InvalidArgumentError(std::string(kWhere) + ": expected for " + job + " " + std::to_string(index) +
                               " " + kAddressForm + ", received " + in_quotes(text));
  return *address;
}

void check_jobs(const ClusterSpec& cluster) {
  for (const char* const job : {"chief", "worker", "ps"})
    if (!cluster.has_job(job) || cluster.num_tasks(job) == 0)
      throw InvalidArgumentError(
          std::string(kWhere) +
          ": expected a cluster with a chief, workers and parameter servers (ps), received " +
          (cluster.empty()
               ? "one process; start them with nyala launch --ps 1 --workers 2 --chief -- PROGRAM, or "
                 "set TF_CONFIG"
               : cluster.to_string() + ", which has no " + job));
}

ParameterServerRole role_of(const ClusterTask& task) {
  if (task.type == "chief") return ParameterServerRole::chief;
  if (task.type == "worker") return ParameterServerRole::worker;
  if (task.type == "ps") return ParameterServerRole::server;
  throw InvalidArgumentError(std::string(kWhere) +
                             ": expected this process to be a chief, a worker or a ps, it is " +
                             (task.type.empty() ? "none" : in_quotes(task.to_string())));
}

}  // namespace

ParameterServerCluster parameter_server_cluster(const ClusterResolver& resolver) {
  const ClusterSpec cluster = resolver.cluster_spec();
  check_jobs(cluster);
  const ClusterTask task{resolver.task_type(), resolver.task_id()};
  ParameterServerCluster found{.role = role_of(task), .chief = address_of(cluster, "chief", 0)};
  check_cluster(cluster, task, kWhere);
  for (const int index : cluster.task_indices("ps"))
    found.servers.push_back(address_of(cluster, "ps", index));
  found.workers = cluster.num_tasks("worker");
  if (found.role == ParameterServerRole::worker) found.worker = task.id;
  if (found.role == ParameterServerRole::server) found.own = address_of(cluster, "ps", task.id);
  return found;
}

}  // namespace nyala::detail
