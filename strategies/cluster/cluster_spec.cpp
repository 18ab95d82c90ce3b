#include <nyala/strategies/cluster/cluster_spec.h>

#include <nyala/backend/core/error.h>

namespace nyala {

ClusterSpec ClusterSpec::from(const std::map<std::string, std::vector<std::string>>& jobs) {
  ClusterSpec spec;
  for (const auto& [job, addresses] : jobs) {
    Tasks& tasks = spec.jobs_[job];
    for (const std::string& address : addresses) tasks.emplace(static_cast<int>(tasks.size()), address);
  }
  return spec;
}

ClusterSpec ClusterSpec::sparse(std::map<std::string, std::map<int, std::string>> jobs) {
  for (const auto& [job, tasks] : jobs)
    if (!tasks.empty() && tasks.begin()->first < 0)
      throw InvalidArgumentError("ClusterSpec: job " + detail::in_quotes(job) +
                                 ": expected indices from 0, received " +
                                 std::to_string(tasks.begin()->first));
  ClusterSpec spec;
  spec.jobs_ = std::move(jobs);
  return spec;
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

const ClusterSpec::Tasks& ClusterSpec::tasks(const std::string& job) const {
  if (const auto found = jobs_.find(job); found != jobs_.end()) return found->second;
  throw NotFoundError("ClusterSpec: there is no job " + detail::in_quotes(job) +
                      (empty() ? "; the cluster is empty" : "; there are " + detail::quoted_list(jobs())) +
                      detail::did_you_mean(job, jobs()));
}

int ClusterSpec::num_tasks(const std::string& job) const { return static_cast<int>(tasks(job).size()); }

std::vector<int> ClusterSpec::task_indices(const std::string& job) const {
  std::vector<int> indices;
  for (const auto& [index, address] : tasks(job)) indices.push_back(index);
  return indices;
}

const std::string& ClusterSpec::task_address(const std::string& job, int index) const {
  const Tasks& all = tasks(job);
  if (const auto found = all.find(index); found != all.end()) return found->second;
  throw NotFoundError("ClusterSpec: job " + detail::in_quotes(job) + " has no task " + std::to_string(index) +
                      "; it has " + std::to_string(all.size()) +
                      (all.empty() ? "" : ", the last one is " + std::to_string(all.rbegin()->first)));
}

std::vector<std::string> ClusterSpec::job_tasks(const std::string& job) const {
  const Tasks& all = tasks(job);
  if (!all.empty() && all.rbegin()->first >= 1'000'000)
    throw InvalidArgumentError("ClusterSpec: job " + detail::in_quotes(job) +
                               " has indices that are too large for a list: use task_indices()");
  std::vector<std::string> addresses(all.empty() ? 0 : static_cast<size_t>(all.rbegin()->first) + 1);
  for (const auto& [index, address] : all) addresses[static_cast<size_t>(index)] = address;
  return addresses;
}

std::string ClusterSpec::to_string() const {
  std::string text;
  for (const auto& [job, all] : jobs_) {
    const bool dense = !all.empty() && all.rbegin()->first + 1 == static_cast<int>(all.size());
    text += (text.empty() ? "'" : ", '") + job + (dense ? "': [" : "': {");
    const char* between = "";
    for (const auto& [index, address] : all) {
      text += between + (dense ? "" : std::to_string(index) + ": ") +
              (address.empty() ? "None" : "'" + address + "'");
      between = ", ";
    }
    text += dense ? "]" : "}";
  }
  return "ClusterSpec({" + text + "})";
}

}  // namespace nyala
