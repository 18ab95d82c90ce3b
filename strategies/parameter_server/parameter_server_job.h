#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/parameter_server/chief_of_functions.h>
#include <nyala/strategies/parameter_server/coordinator.h>
#include <nyala/strategies/parameter_server/coordinator_client.h>
#include <nyala/strategies/parameter_server/remote_parameters.h>
#include <nyala/strategies/parameter_server/worker_functions.h>

namespace nyala::detail {

/// What a process of a ParameterServerStrategy has: its way to the servers, and one end of the coordination
/// of the workers, by which the chief hands out the batches of an epoch.
class ParameterServerJob : public std::enable_shared_from_this<ParameterServerJob> {
 public:
  /// A worker.
  ParameterServerJob(std::unique_ptr<RemoteParameters> parameters, std::unique_ptr<CoordinatorClient> client);
  struct Times {
    std::chrono::milliseconds timeout = std::chrono::seconds(300);   ///< for workers, where there are none
    std::chrono::milliseconds snapshots = std::chrono::seconds(30);  ///< between two of them
  };
  /// The chief.
  ParameterServerJob(std::unique_ptr<RemoteParameters> parameters, std::unique_ptr<Coordinator> coordinator,
                     std::unique_ptr<ParameterListener> listener, Times times);
  /// The chief waits until the workers have ended, then ends the servers.
  ~ParameterServerJob();

  RemoteParameters& parameters() { return *parameters_; }
  bool is_chief() const { return coordinator_ != nullptr; }
  Coordinator& coordinator() { return *coordinator_; }
  CoordinatorClient& client() { return *client_; }
  const Times& times() const { return times_; }
  /// Of the chief: functions that workers carry out.
  ChiefOfFunctions& chief_of_functions();
  WorkerFunctions& functions() { return functions_; }
  /// A worker's place among those that the cluster has.
  struct Place {
    int index = 0, workers = 1;
  };
  Place place = {};
  /// The optimizer by which servers apply what functions of this process give them; empty: none has yet.
  std::weak_ptr<const void> served_optimizer;
  /// A model's own, whose gradients its train_step() applies.
  struct OwnOptimizer {
    std::weak_ptr<const void> optimizer;
    std::string rule;  // its name at the servers
    bool is_given = false;
  };
  std::vector<OwnOptimizer> own_optimizers;

  bool is_synchronous() const;
  /// What a loop of the program's own speaks by, in which the chief is rank 0 and worker i rank i + 1; null
  /// where the job is not synchronous. The first call waits for all processes. Throws InvalidArgumentError
  /// where they have different numbers of replicas.
  std::shared_ptr<ProcessExchange> loop(int local_replicas);
  /// An optimizer whose gradients such a loop applies.
  struct LoopOptimizer {
    std::weak_ptr<const void> optimizer;
    std::string rule;
    RemoteParameters::Rates rates = {};  // as servers know them
    uint64_t times_loaded = 0;           // likewise
    bool has_applied = false;            // since its state came here
  };
  std::vector<LoopOptimizer> loop_optimizers;
  /// The state of these comes here; set by who knows optimizers.
  std::function<void()> take_loop_optimizers;
  /// A worker's strategy: its replicas are those of a piece among all pieces of a step, which speak by what
  /// is given; null: they are alone again.
  std::function<void(std::shared_ptr<ProcessExchange>)> take_part;
  /// Counts the calls of fit and evaluate in this process: the same number is the same call everywhere.
  uint64_t next_training() { return ++trainings_; }
  /// A file that all processes save: the chief has written it, a worker waits until it has. Not in functions,
  /// whose end the chief may wait for.
  void share_file(const std::string& path);
  std::string describe();

 private:
  std::unique_ptr<RemoteParameters> parameters_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<ParameterListener> listener_;
  std::unique_ptr<CoordinatorClient> client_;
  std::unique_ptr<ChiefOfFunctions> chief_of_functions_;
  WorkerFunctions functions_;
  Times times_ = {};
  uint64_t trainings_ = 0;
  std::shared_ptr<ProcessExchange> loop_;
  std::map<std::string, uint64_t> files_;  // how often a worker has come to each
};

}  // namespace nyala::detail
