#include <nyala/tools/launch/task_plan.h>

#include <algorithm>
#include <string>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/files/json/json.h>
#include <nyala/strategies/cluster/environment.h>
#include <nyala/strategies/cluster/free_ports.h>

namespace nyala::tools {

namespace {

/// Threads for each: a chief computes little while the others do.
std::string share_of_cores(const LaunchConfig& config) {
  return std::to_string(std::max(1, available_cores() / (config.ps + config.workers)));
}

}  // namespace

std::vector<RankPlan> plan_tasks(const LaunchConfig& config) {
  std::vector<RankPlan> tasks;
  std::vector<int> indices;
  const std::pair<const char*, int> jobs[] = {
      {"chief", config.chief ? 1 : 0}, {"worker", config.workers}, {"ps", config.ps}};
  const std::vector<int> ports = detail::lasting_ports(jobs[0].second + jobs[1].second + jobs[2].second);
  Json cluster = Json::object();
  for (const auto& [job, count] : jobs)
    for (int index = 0; index < count; ++index) {
      RankPlan task;
      task.rank = static_cast<int>(tasks.size());
      task.job = job;
      task.name = config.chief && task.rank == 0 ? job : job + (" " + std::to_string(index));
      cluster[job].push_back("127.0.0.1:" + std::to_string(ports[tasks.size()]));
      tasks.push_back(std::move(task));
      indices.push_back(index);
    }
  for (RankPlan& task : tasks) {
    const int index = indices[static_cast<size_t>(task.rank)];
    const Json place = {{"cluster", cluster}, {"task", {{"type", task.job}, {"index", index}}}};
    task.variables = {{"TF_CONFIG", place.dump()}};
    if (task.job == "ps" && !config.snapshots.empty())
      task.variables.emplace_back("NYALA_SNAPSHOTS", config.snapshots);
    if (!Environment().has("OMP_NUM_THREADS"))
      task.variables.emplace_back("OMP_NUM_THREADS", share_of_cores(config));
  }
  return tasks;
}

}  // namespace nyala::tools
