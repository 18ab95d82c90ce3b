#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nyala {

/// The processes of a cluster, TensorFlow's tf.train.ClusterSpec: tasks by job ("chief", "worker", "ps",
/// "evaluator") and index, each with its address "host:port".
///
/// An address is empty where the launcher does not tell it (torchrun and MPI name the first process only);
/// the processes then learn it from each other when they meet.
class ClusterSpec {
 public:
  ClusterSpec() = default;
  /// `ClusterSpec({{"worker", {"a:2222", "b:2222"}}})`: a list of addresses by job.
  ClusterSpec(std::initializer_list<std::pair<const std::string, std::vector<std::string>>> jobs)
      : ClusterSpec(from(jobs)) {}
  static ClusterSpec from(const std::map<std::string, std::vector<std::string>>& jobs);
  /// With indices that need not begin with 0 nor follow each other. Throws InvalidArgumentError for a
  /// negative one.
  static ClusterSpec sparse(std::map<std::string, std::map<int, std::string>> jobs);

  /// Of no job.
  bool empty() const { return jobs_.empty(); }
  /// Names of the jobs, sorted.
  std::vector<std::string> jobs() const;
  bool has_job(const std::string& job) const { return jobs_.contains(job); }

  /// These throw NotFoundError, listing what there is, for a job or a task that does not exist.
  int num_tasks(const std::string& job) const;
  std::vector<int> task_indices(const std::string& job) const;
  const std::string& task_address(const std::string& job, int index) const;
  /// Addresses in the order of indices, empty ones for indices that are left out.
  std::vector<std::string> job_tasks(const std::string& job) const;

  /// As TensorFlow prints it: "ClusterSpec({'worker': ['a:2222', 'b:2222']})".
  std::string to_string() const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  using Tasks = std::map<int, std::string>;
  const Tasks& tasks(const std::string& job) const;

  std::map<std::string, Tasks> jobs_;
};

}  // namespace nyala
