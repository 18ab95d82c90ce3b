#pragma once

#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>

namespace nyala {

/// One process of a cluster.
struct ClusterTask {
  std::string type;
  int id = 0;

  std::string to_string() const { return type + " " + std::to_string(id); }
  friend bool operator==(const ClusterTask&, const ClusterTask&) = default;
};

/// Throws InvalidArgumentError naming what is wrong, `where` first: a job that is none of chief, worker, ps
/// and evaluator, several chiefs or evaluators, a job with indices left out, an address that is none (an
/// empty one only where `task` is not the first worker) or that two tasks share, and a task that is not in
/// the cluster (an evaluator need not be).
void check_cluster(const ClusterSpec& cluster, const ClusterTask& task, const std::string& where);

/// How many processes train: chief and workers. 1 for an empty cluster and for an evaluator, which is outside
/// of it.
int worker_count(const ClusterSpec& cluster, const ClusterTask& task);

/// The rank of a chief (0), a worker (behind the chief, if there is one) or an evaluator (0). Throws
/// InvalidArgumentError for other jobs.
int id_in_cluster(const ClusterSpec& cluster, const ClusterTask& task);

/// Whether it writes what is written once: the chief, worker 0 where there is none, an evaluator.
bool is_chief(const ClusterSpec& cluster, const ClusterTask& task);
/// Of the process that the resolver speaks of; true where it is the only one.
bool is_chief(const ClusterResolver& resolver);

/// The process at which all meet: parameter server 0 where there are some, else the chief, else worker 0.
/// Throws InvalidArgumentError for a cluster without any of them.
ClusterTask coordination_leader(const ClusterSpec& cluster);

}  // namespace nyala
