#pragma once

#include <map>
#include <string>

#include <nyala/strategies/cluster/environment_resolver.h>

namespace nyala {

struct SlurmClusterResolverConfig {
  /// How many tasks of each job, e.g. {{"chief", 1}, {"worker", 3}}; ranks go to jobs in the order of their
  /// names. Empty: all are workers.
  std::map<std::string, int> jobs = {};
  /// Of the first task of each node, the next ones follow; 0: one between 20000 and 32767 that the number of
  /// the job and the step say, so that two jobs on a node do not meet. (TensorFlow: 8888.)
  int port_base = 0;
  /// Accelerators of one task; -1: as SLURM_GPUS_PER_TASK says, else all that the process sees.
  int gpus_per_task = -1;
  std::string rpc_layer = "grpc";
  Environment environment = {};
};

/// The tasks of a step of Slurm (`srun`), from the variables SLURM_STEP_ID, SLURM_PROCID,
/// SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE; of the last three also those of
/// the job. Tasks may be distributed over nodes by block or cyclic. Read once, when the resolver is made.
class SlurmClusterResolver final : public detail::EnvironmentResolver {
 public:
  using Config = SlurmClusterResolverConfig;
  /// Throws StateError outside of a step (a batch script without srun is one process, whatever its variables
  /// say), NotFoundError for a variable that is not set, InvalidArgumentError for one that has another form
  /// or contradicts others, and for jobs that are not as many tasks as the step has.
  explicit SlurmClusterResolver(const Config& config = {});

  std::map<std::string, int> num_accelerators() const override;

 private:
  int gpus_per_task_;
};

}  // namespace nyala
