#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/feed.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/api/training/state/training_state.h>
#include <nyala/api/training/stepper.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala {

/// The chief's part of a fit under ParameterServerStrategy: it hands batches out, adds up what workers say of
/// them, and has the servers' values where callbacks look at them.
class ChiefOfWorkers {
 public:
  ChiefOfWorkers(ModelNode& model, detail::ParameterServerJob& job);

  /// Values and optimizer of this process are those that training begins with. Weights and optimizer are
  /// built.
  void begin(const TrainingFacts& facts);
  struct BatchHooks {
    /// Called with the number of a batch: before it, where batches are trained in order and it is known that
    /// there is one, elsewhere when it is done.
    std::function<void(int64_t)> begin;
    /// Called with how many there have been when one is done; when it returns true no more are handed out.
    std::function<bool(int64_t)> done;
  };
  /// One epoch of `batches` (below 0: unknown) batches. Throws CommunicationError where all workers are gone
  /// and none comes in time, or where one failed.
  void train_epoch(int64_t epoch, int64_t batches, const BatchHooks& hooks);
  /// Whether workers train one batch after the other, together or in turns.
  bool is_in_order() const { return job_.coordinator().is_synchronous() || job_.coordinator().takes_turns(); }
  /// This process' values and optimizer become those of the servers.
  void take_over();
  /// What callbacks have changed since is what training goes on with: values, the learning rate.
  void give_back();
  /// Workers end the training with what the chief has.
  void end(const FinishedEpochs& finished);
  void fail(const std::string& why) { job_.coordinator().fail_training(training_, why); }

 private:
  /// Where an epoch stood when servers wrote a snapshot.
  struct Stand {
    uint64_t mark = 0;
    int64_t batch = 0;
    TrainingState sums = {};
  };
  enum class StepEnd { done, no_data, server_lost };

  void train_epoch_in_steps(int64_t epoch, int64_t batches, const BatchHooks& hooks);
  StepEnd train_step(int64_t epoch, int64_t batch);
  bool keep_stand(int64_t batch);
  /// Of servers that were started again. False where there are none to train once more.
  bool take_up_lost_batches();
  /// Servers go back to where one that was lost goes on from. Returns the batch of the epoch.
  int64_t go_back();
  void add(const std::vector<double>& values);
  void add_to_own_metrics(std::span<const double> states);
  /// Rates of the optimizers here, unless they follow schedules.
  void give_rates();
  /// What has changed in them since: what was loaded, rates.
  void give_optimizers();
  void await_workers();
  /// Whether it is time to ask the servers again.
  bool looks_now();
  void look_after_servers();
  void snapshot();

  ModelNode& model_;
  detail::ParameterServerJob& job_;
  uint64_t training_ = 0;  // its number
  /// An optimizer, and what servers know of it.
  struct Known {
    detail::NamedOptimizer optimizer;
    detail::RemoteParameters::Rates rates = {};
    uint64_t times_loaded = 0;
  };
  std::vector<Known> known_;  // compile()'s, which has no name, then the model's own
  std::chrono::steady_clock::time_point looked_ = {}, saved_ = {};
  bool has_snapshots_ = true;
  std::vector<Stand> stands_;    // of the last two snapshots, in this epoch
  std::vector<uint64_t> marks_;  // of the servers that were started again
  int without_cause_ = 0;        // how often pieces were lost since a step was done, and no server was
};

/// A worker's part: trains the batches that it is given until the training is over. Returns the logs of all
/// epochs; the model has the values that the chief's has.
FinishedEpochs train_for_chief(ModelNode& model, detail::ParameterServerJob& job, const TrainingFacts& facts,
                               Stepper& stepper, const std::function<Feed()>& make_feed);

/// An optimizer and the constraints of its variables, which are named as the servers have them, as a text by
/// which these make them (api/saving writes it, api/serving reads it). `lazy_rows`:
/// ParameterServerStrategy's. Throws InvalidArgumentError for what is made of C++ functions.
std::string text_of_rule(BaseOptimizer& optimizer, bool lazy_rows,
                         const std::function<std::string(const Variable&)>& server_name);

namespace detail {

/// Throws InvalidArgumentError for an optimizer that cannot update a table by rows.
void check_updates_rows(const Optimizer& optimizer, const std::string& table);

}  // namespace detail

}  // namespace nyala
