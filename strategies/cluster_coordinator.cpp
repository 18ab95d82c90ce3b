#include <nyala/strategies/cluster_coordinator.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/parameter_server/remote_error.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

using namespace nyala::detail;

/// What coordinators of one strategy and their values share. It does not keep the strategy: where that ends,
/// so does the cluster.
class detail::CoordinatorCore {
 public:
  explicit CoordinatorCore(const std::shared_ptr<ParameterServerJob>& job)
      : is_chief(job->is_chief()), job_(job) {}

  const bool is_chief;

  std::shared_ptr<ParameterServerJob> job() const {
    if (auto job = job_.lock()) return job;
    throw StateError("ClusterCoordinator: its strategy is gone");
  }
  std::shared_ptr<ParameterServerJob> chief(const char* what) const {
    if (!is_chief)
      throw StateError(std::string("ClusterCoordinator: ") + what +
                       " is for the chief; a worker stays in serve(): if (coordinator.serve()) return 0;");
    return job();
  }

 private:
  std::weak_ptr<ParameterServerJob> job_;
};

namespace {

std::shared_ptr<ParameterServerJob> job_of(const Strategy& strategy) {
  ParameterServerJob* const job = strategy.node().parameter_server_job();
  if (!job)
    throw InvalidArgumentError("ClusterCoordinator: expected a ParameterServerStrategy, received " +
                               strategy.node().name());
  if (job->is_chief() && job->coordinator().is_synchronous())
    throw InvalidArgumentError(
        "ClusterCoordinator: workers carry functions out at their own pace, and this strategy is "
        "synchronous; leave `synchronous` out, call fit(), or loop by strategy.run() in all processes");
  return job->shared_from_this();
}

std::string place_of(const ParameterServerJob& job) { return "worker " + std::to_string(job.place.index); }

/// While it lives exchanges with the servers are those of the function, and its steps have numbers of their
/// own.
class RunningFunction {
 public:
  RunningFunction(RemoteParameters& parameters, uint64_t id)
      : parameters_(parameters), step_(thread_context().step, static_cast<int64_t>(id - 1)) {
    parameters_.set_function(id);
  }
  ~RunningFunction() { parameters_.set_function(0); }
  RunningFunction(const RunningFunction&) = delete;
  RunningFunction& operator=(const RunningFunction&) = delete;

 private:
  RemoteParameters& parameters_;
  const ScopedValue<int64_t> step_;  // the same where it is carried out again
};

std::vector<std::byte> carry_out(ParameterServerJob& job, const CoordinatorClient::Function& function) {
  const RunningFunction running(job.parameters(), function.id);
  job.parameters().pull();
  std::vector<std::byte> bytes = job.functions().call(function.name, function.arguments);
  job.parameters().push_changes();
  if (bytes.size() > kMaxBrought)
    throw InvalidArgumentError("it returned " + std::to_string(bytes.size()) + " bytes; at most " +
                               std::to_string(kMaxBrought) + " travel at once");
  return bytes;
}

void serve_one(ParameterServerJob& job, const CoordinatorClient::Function& function) {
  std::vector<std::byte> bytes;
  try {
    bytes = carry_out(job, function);
  } catch (...) {
    bytes = current_error_as_bytes("function " + in_quotes(function.name) + " on " + place_of(job) + ": ");
    job.client().threw(function.id, bytes);
    return;
  }
  job.client().returned(function.id, bytes);
}

}  // namespace

ClusterCoordinator::ClusterCoordinator(const Strategy& strategy)
    : core_(std::make_shared<CoordinatorCore>(job_of(strategy))) {}

bool ClusterCoordinator::is_chief() const { return core_->is_chief; }

WorkerFunctions& ClusterCoordinator::functions() const { return core_->job()->functions(); }

std::shared_ptr<FunctionOutcome> ClusterCoordinator::schedule_bytes(const std::string& name,
                                                                    std::vector<std::byte> arguments) const {
  const auto job = core_->chief("schedule()");
  if (arguments.size() > kMaxBrought)
    throw InvalidArgumentError("ClusterCoordinator: the arguments of function " + in_quotes(name) + " are " +
                               std::to_string(arguments.size()) + " bytes; at most " +
                               std::to_string(kMaxBrought) + " travel at once");
  return job->chief_of_functions().schedule(name, std::move(arguments));
}

void ClusterCoordinator::join() const { core_->chief("join()")->chief_of_functions().join(); }

bool ClusterCoordinator::done() const { return core_->chief("done()")->chief_of_functions().done(); }

PerWorkerIterator ClusterCoordinator::create_per_worker_iterator(const Dataset& dataset) const {
  return create_per_worker_iterator([dataset](const InputContext&) { return dataset; });
}

// Epochs order shuffled data: the iterations of a worker, which is first with none of the others, have
// theirs.
PerWorkerIterator ClusterCoordinator::create_per_worker_iterator(
    const std::function<Dataset(const InputContext&)>& make) const {
  const ParameterServerJob::Place place = core_->job()->place;
  return create_per_worker_value([make, place] {
    const InputContext context{.num_input_pipelines = place.workers, .input_pipeline_id = place.index};
    return make(context).iterate({.epoch = place.index});
  });
}

bool ClusterCoordinator::serve() const {
  if (core_->is_chief) return false;
  const auto job = core_->job();
  while (const auto function = job->client().next_function()) serve_one(*job, *function);
  return true;
}

const std::vector<std::byte>& detail::bytes_of_outcome(CoordinatorCore& core,
                                                       const FunctionOutcome& outcome) {
  if (outcome.state() == FunctionOutcome::State::pending)
    core.chief("fetch()")->chief_of_functions().wait(outcome);
  if (outcome.state() == FunctionOutcome::State::threw) throw_error_of(outcome.bytes());
  if (outcome.state() == FunctionOutcome::State::cancelled)
    throw CommunicationError("ClusterCoordinator: the function was cancelled: " + outcome.text());
  return outcome.bytes();
}

bool detail::is_ready(const FunctionOutcome& outcome) {
  return outcome.state() != FunctionOutcome::State::pending;
}

void detail::throw_not_in_chief() {
  throw StateError(
      "PerWorkerValue: the chief has none; give it to a function as an argument, which gets the worker's");
}

}  // namespace nyala
