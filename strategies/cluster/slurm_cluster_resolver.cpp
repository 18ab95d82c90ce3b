// Variables: srun(1) of Slurm 22.05.
#include <nyala/strategies/cluster/slurm_cluster_resolver.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/cluster/hostlist.h>

namespace nyala {

namespace {

constexpr int kMostTasks = 1'000'000;
constexpr int kAnyNumber = std::numeric_limits<int>::max();
constexpr const char* kStartWithSrun = "Start the program with srun.";

/// The first of several variables that is set; the last one where none is.
std::string first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (environment.has(name)) return name;
  return *(names.end() - 1);
}

struct Nodes {
  std::vector<std::string> hosts;
  std::vector<int> tasks;

  /// The node of each rank.
  std::vector<int> placed(bool cyclic) const {
    std::vector<int> places;
    if (cyclic) {
      const int most = *std::max_element(tasks.begin(), tasks.end());
      for (int round = 0; round < most; ++round)
        for (size_t node = 0; node < tasks.size(); ++node)
          if (round < tasks[node]) places.push_back(static_cast<int>(node));
    } else {
      for (size_t node = 0; node < tasks.size(); ++node)
        places.insert(places.end(), static_cast<size_t>(tasks[node]), static_cast<int>(node));
    }
    return places;
  }
};

Nodes nodes_of_step(const Environment& environment, int num_tasks) {
  const std::string list =
      first_set(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const std::string counts = first_set(environment, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  Nodes nodes;
  nodes.hosts = detail::expand_hostlist(
      detail::required_variable(environment, {.name = list, .hint = kStartWithSrun}), list);
  nodes.tasks = detail::expand_tasks_per_node(
      detail::required_variable(environment, {.name = counts, .hint = kStartWithSrun}), counts);
  if (nodes.hosts.size() != nodes.tasks.size())
    detail::throw_wrong_setting(
        counts, "a number for each of the " + std::to_string(nodes.hosts.size()) + " nodes of " + list,
        std::to_string(nodes.tasks.size()));
  const int64_t sum = std::accumulate(nodes.tasks.begin(), nodes.tasks.end(), int64_t{0});
  if (sum != num_tasks)
    detail::throw_wrong_setting(counts,
                                "tasks that sum up to the " + std::to_string(num_tasks) + " of the step",
                                std::to_string(sum));
  return nodes;
}

int slurm_port(const SlurmClusterResolverConfig& config) {
  constexpr int kFirst = 20000, kSlots = 199, kTasksOfSlot = 64;
  if (config.port_base < 0 || config.port_base > 65535)
    detail::throw_wrong_setting("SlurmClusterResolver: port_base", "0 to 65535",
                                std::to_string(config.port_base));
  if (config.port_base != 0) return config.port_base;
  const std::string job = first_set(config.environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  const int64_t id = detail::required_number(config.environment, {job, 0, kAnyNumber, kStartWithSrun});
  const int64_t step =
      detail::optional_number(config.environment, {"SLURM_STEP_ID", 0, kAnyNumber}).value_or(0);
  return kFirst + static_cast<int>((3 * id + step) % kSlots) * kTasksOfSlot;
}

/// "host:port" of each rank.
std::vector<std::string> slurm_addresses(const Nodes& nodes, const std::vector<int>& placed, int port) {
  std::vector<int> used(nodes.hosts.size());
  std::vector<std::string> addresses;
  for (const int node : placed) {
    const size_t at = static_cast<size_t>(node);
    addresses.push_back(nodes.hosts[at] + ":" + std::to_string(port + used[at]++));
  }
  return addresses;
}

/// Which node a rank is on depends on how the tasks were distributed; what Slurm says of this one must agree.
std::vector<int> placed_tasks(const Environment& environment, const Nodes& nodes, int rank) {
  const std::string distribution = environment.get("SLURM_DISTRIBUTION").value_or("block");
  std::vector<int> placed = nodes.placed(distribution.starts_with("cyclic"));
  const int last = static_cast<int>(nodes.hosts.size()) - 1;
  const int node = placed[static_cast<size_t>(rank)];
  if (detail::optional_number(environment, {"SLURM_NODEID", 0, last}).value_or(node) != node)
    detail::throw_wrong_setting("SLURM_NODEID", std::to_string(node) + " for task " + std::to_string(rank),
                                *environment.get("SLURM_NODEID"),
                                "Distribute tasks by block or cyclic: srun --distribution=block.");
  return placed;
}

}  // namespace

SlurmClusterResolver::SlurmClusterResolver(const Config& config)
    : EnvironmentResolver(config.rpc_layer), gpus_per_task_(config.gpus_per_task) {
  const Environment& environment = config.environment;
  if (!environment.has("SLURM_STEP_ID"))
    throw StateError(
        "SlurmClusterResolver: the variable SLURM_STEP_ID is not set, so that this process is in no step of "
        "Slurm. "
        "Start the program with srun, also inside of a batch script.");
  const std::string count = first_set(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const int num_tasks = detail::required_number(environment, {count, 1, kMostTasks, kStartWithSrun});
  const int rank = detail::required_number(environment, {"SLURM_PROCID", 0, num_tasks - 1, kStartWithSrun});
  const Nodes nodes = nodes_of_step(environment, num_tasks);
  const std::vector<std::string> addresses =
      slurm_addresses(nodes, placed_tasks(environment, nodes, rank), slurm_port(config));

  std::map<std::string, int> jobs = config.jobs;
  if (jobs.empty()) jobs = {{"worker", num_tasks}};
  std::map<std::string, std::vector<std::string>> cluster;
  int first = 0;
  for (const auto& [job, tasks] : jobs) {
    if (tasks < 1 || tasks > num_tasks - first)
      detail::throw_wrong_setting("SlurmClusterResolver: jobs",
                                  "as many tasks as the step has, " + std::to_string(num_tasks),
                                  std::to_string(tasks) + " of job " + detail::in_quotes(job) + " behind " +
                                      std::to_string(first) + " others");
    cluster[job].assign(addresses.begin() + first, addresses.begin() + first + tasks);
    if (first <= rank && rank < first + tasks) {
      task_type_ = job;
      task_id_ = rank - first;
    }
    first += tasks;
  }
  if (first != num_tasks)
    detail::throw_wrong_setting("SlurmClusterResolver: jobs",
                                "as many tasks as the step has, " + std::to_string(num_tasks),
                                std::to_string(first));
  cluster_ = ClusterSpec::from(cluster);
  check_cluster(cluster_, {task_type_, task_id_}, "SlurmClusterResolver");
  if (gpus_per_task_ < 0)
    gpus_per_task_ = detail::optional_number(environment, {"SLURM_GPUS_PER_TASK", 0, 1024}).value_or(-1);
}

std::map<std::string, int> SlurmClusterResolver::num_accelerators() const {
  if (gpus_per_task_ < 0) return ClusterResolver::num_accelerators();
  return gpus_per_task_ == 0 ? std::map<std::string, int>()
                             : std::map<std::string, int>{{"GPU", gpus_per_task_}};
}

}  // namespace nyala
