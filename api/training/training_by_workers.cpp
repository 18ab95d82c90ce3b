// What a worker says of a batch are the sums of its losses and metrics, which merge like those of replicas.
// The chief's own model and optimizer are the template that callbacks, checkpoints and the end of fit see:
// filled from the servers before, and published to them where something has changed it.
#include <nyala/api/training/training_by_workers.h>

#include <algorithm>
#include <thread>

#include <nyala/api/training/optimizer_numbers.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/parameters/sum_over_replicas.h>
#include <nyala/strategies/parameter_server/chief_alone.h>
#include <nyala/strategies/parameter_server/piece_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string text_of(const TrainingFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += name + " = " + value + "\n";
  return text;
}

/// By their names at the servers, those of compile()'s optimizer first.
std::vector<NamedOptimizer> optimizers_of(const ModelNode& model) {
  std::vector<NamedOptimizer> all = own_optimizers_of(model);
  all.insert(all.begin(), {"", model.compiled_training().optimizer});
  return all;
}

/// What workers go on with: the logs of all epochs, behind which are the optimizers' steps and rates.
std::string result_of(const ModelNode& model, const FinishedEpochs& finished) {
  OptimizerNumbers numbers;
  for (const NamedOptimizer& one : optimizers_of(model))
    add_numbers(one.optimizer.node(), one.name + "/", numbers);
  TrainingState state{.finished = finished};
  Logs& logs = state.finished.emplace_back().second;
  for (const auto& [name, value] : numbers) logs.set(name, value);
  const std::vector<std::byte> bytes = packed(state);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

FinishedEpochs take_result(const ModelNode& model, const std::string& result) {
  FinishedEpochs finished = unpacked(std::as_bytes(std::span(result))).finished;
  OptimizerNumbers numbers;
  for (const auto& [name, value] : finished.back().second) numbers[name] = value;
  finished.pop_back();
  for (const NamedOptimizer& one : optimizers_of(model))
    take_numbers(one.optimizer.node(), one.name + "/", numbers);
  return finished;
}

/// The next batch goes on from what this one leaves: by one worker at a time, or by all together.
void check_state_of_rows(const ModelNode& model, const Coordinator& coordinator) {
  if (coordinator.is_synchronous() || coordinator.takes_turns()) return;
  for (const Variable& variable : variables_with_state(model))
    if (is_sum_over_replicas(variable))
      throw InvalidArgumentError(
          "ParameterServerStrategy: " + in_quotes(variable.path()) +
          " keeps a state which the next batch goes on from (a stateful recurrent layer), and workers train "
          "batches at the same time; expected .staleness = 0 or .synchronous = true, or the layer without "
          "`stateful`");
}

/// Rows, then losses and metrics, then the state of each metric of the model's own behind its size.
std::vector<double> values_of(ModelNode& model) {
  const EpochSums& sums = model.epoch_sums();
  for (const auto& logged : sums.logged)
    if (!logged.empty())
      throw StateError("ParameterServerStrategy: train_step() of model " + in_quotes(model.name()) +
                       " logs " + in_quotes(logged[0].name) +
                       ", which stays in the worker; give metrics to compile()");
  std::vector<double> values = summed(model.compiled_training(), sums.of_replicas);
  values.insert(values.begin(), sums.rows);
  values.insert(values.begin(), sums.loss_is_tracked ? 1.0 : 0.0);
  for (const Metric& metric : model.own_metrics()) {
    const auto parts = metric.sums().parts(metric.node());
    const std::vector<double> state = parts.empty() ? std::vector<double>() : metric.node().merged(parts);
    values.push_back(static_cast<double>(state.size()));
    values.insert(values.end(), state.begin(), state.end());
  }
  return values;
}

}  // namespace

ChiefOfWorkers::ChiefOfWorkers(ModelNode& model, ParameterServerJob& job) : model_(model), job_(job) {}

void ChiefOfWorkers::begin(const TrainingFacts& facts) {
  training_ = job_.next_training();  // of a fit that is refused, too: workers count it
  job_.coordinator().wait_until_left();
  check_state_of_rows(model_, job_.coordinator());
  BaseOptimizer& optimizer = model_.compiled_training().optimizer.node();
  RemoteParameters& parameters = job_.parameters();
  check_can_be_served(optimizer, parameters);
  parameters.publish();
  const Variables tables = trained_tables(model_.variables());
  if (!tables.empty() && job_.coordinator().is_synchronous())
    throw InvalidArgumentError(
        "ParameterServerStrategy: synchronous workers hold whole tables, and " + in_quotes(tables[0].path()) +
        " lies on the servers alone; raise remote_rows_above, or leave synchronous out");
  for (const Variable& table : tables)  // here it is a typed error
    check_updates_rows(model_.compiled_training().optimizer, table.path());
  give_rule_to_servers(optimizer, tables, parameters);
  give_state_to_servers(optimizer, parameters);
  job_.served_optimizer.reset();
  known_.clear();
  for (const NamedOptimizer& one : optimizers_of(model_)) {
    if (!known_.empty()) give_own_optimizer(one, parameters);  // behind that of compile()
    const BaseOptimizer& node = one.optimizer.node();
    known_.push_back({one, rates_for_servers(node), node.times_loaded()});
  }
  if (!job_.coordinator().is_synchronous()) snapshot();  // nobody gives values and optimizer again
  job_.coordinator().begin_training(training_, text_of(facts),
                                    std::to_string(model_.resume_point().shuffle_seed));
}

void ChiefOfWorkers::train_epoch(int64_t epoch, int64_t batches, const BatchHooks& hooks) {
  constexpr std::chrono::milliseconds kLook{200};
  Coordinator& coordinator = job_.coordinator();
  if (coordinator.is_synchronous()) return train_epoch_in_steps(epoch, batches, hooks);
  coordinator.begin_epoch(epoch, batches, model_.resume_point().train_step);
  bool stopped = false;
  for (int64_t count = 0;;) {
    const CoordinatorEvent event = coordinator.wait(kLook);
    switch (event.kind) {
      case CoordinatorEvent::Kind::batch_done:
        add(event.values);
        ++model_.resume_point().train_step;
        hooks.begin(count);
        if (hooks.done(++count) && !std::exchange(stopped, true)) coordinator.stop_epoch();
        break;
      case CoordinatorEvent::Kind::epoch_over:
        snapshot();  // batches of an epoch that is over cannot be trained again
        if (!take_up_lost_batches()) return;
        break;
      case CoordinatorEvent::Kind::failed:
        throw CommunicationError(event.text);
      case CoordinatorEvent::Kind::step_done:
      case CoordinatorEvent::Kind::nothing:
        await_workers();
        break;
    }
    look_after_servers();
  }
}

/// A step is over when all servers have applied it. Between two of them all stand at the same place.
void ChiefOfWorkers::train_epoch_in_steps(int64_t epoch, int64_t batches, const BatchHooks& hooks) {
  int64_t& step = model_.resume_point().train_step;
  const int64_t first_step = step;
  stands_.clear();
  if (!keep_stand(0)) go_back();  // an error: there is nothing to go back to
  bool over = batches == 0;
  for (int64_t batch = 0;;) {
    if (over) {
      if (keep_stand(batch)) return;
      batch = go_back();
      over = batch == batches;
    } else {
      if (batches >= 0) hooks.begin(batch);
      const StepEnd end = train_step(epoch, batch);
      over = end == StepEnd::no_data;
      if (end == StepEnd::done) ++batch;
      if (end == StepEnd::server_lost) batch = go_back();
      step = first_step + batch;
      if (end == StepEnd::done) {
        if (batches < 0) hooks.begin(batch - 1);
        over = hooks.done(batch) || batch == batches;
        if (over || std::chrono::steady_clock::now() - saved_ < job_.times().snapshots) continue;
        if (!keep_stand(batch)) batch = go_back();
      }
    }
    step = first_step + batch;
  }
}

ChiefOfWorkers::StepEnd ChiefOfWorkers::train_step(int64_t epoch, int64_t batch) {
  constexpr std::chrono::milliseconds kLook{200};
  Coordinator& coordinator = job_.coordinator();
  coordinator.begin_step(epoch, batch, model_.resume_point().train_step);
  for (;;) {
    CoordinatorEvent event = coordinator.wait(kLook);
    switch (event.kind) {
      case CoordinatorEvent::Kind::step_done:
        if (!job_.parameters().commit(event.batch.piece)) {
          marks_ = job_.parameters().restarts();
          return StepEnd::server_lost;
        }
        without_cause_ = 0;
        for (size_t piece = 0; piece < event.of_pieces.size(); ++piece) {
          std::vector<double>& values = event.of_pieces[piece];
          if (piece > 0 && values.size() > 1) values[1] = 0.0;  // each says the rows of the whole batch
          add(values);
        }
        return StepEnd::done;
      case CoordinatorEvent::Kind::epoch_over:
        return StepEnd::no_data;
      case CoordinatorEvent::Kind::failed:
        throw CommunicationError(event.text);
      case CoordinatorEvent::Kind::batch_done:
      case CoordinatorEvent::Kind::nothing:
        await_workers();
        break;
    }
    if (!looks_now()) continue;
    marks_ = job_.parameters().restarts();
    if (!marks_.empty()) return StepEnd::server_lost;
  }
}

/// False where a server has been started again meanwhile, from an earlier stand: then marks_ say which.
bool ChiefOfWorkers::keep_stand(int64_t batch) {
  snapshot();
  const uint64_t mark = job_.coordinator().mark();
  marks_ = job_.parameters().restarts();
  if (std::ranges::any_of(marks_, [=](uint64_t began_with) { return began_with != mark; })) return false;
  if (stands_.size() > 1) stands_.erase(stands_.begin());
  copy_sums(model_, stands_.emplace_back(Stand{.mark = mark, .batch = batch}).sums);
  return true;
}

int64_t ChiefOfWorkers::go_back() {
  constexpr int kMostWithoutCause = 10;
  if (marks_.empty() && (stands_.empty() || ++without_cause_ > kMostWithoutCause))
    throw CommunicationError(
        "a parameter server does not have all pieces of a step, and was not started again");
  const uint64_t mark = marks_.empty() ? stands_.back().mark : *std::ranges::min_element(marks_);
  const auto stand = std::ranges::find(stands_, mark, &Stand::mark);
  if (stand == stands_.end())
    throw CommunicationError(
        "a parameter server was started again from a snapshot that is older than this "
        "epoch; a synchronous training cannot go on from it");
  job_.parameters().restore(mark);
  give_rates();
  stands_.erase(stand + 1, stands_.end());
  const Stand& last = stands_.back();
  restore_sums(model_, last.sums);
  log(LogChannel::warning,
      (marks_.empty()
           ? "a parameter server has lost pieces of a step (" + job_.parameters().missing_pieces() + ")"
           : std::string("a parameter server was started again from its snapshot")) +
          ": all go back to the last one, and training goes on from batch " + std::to_string(last.batch) +
          " of the epoch");
  return last.batch;
}

bool ChiefOfWorkers::looks_now() {
  constexpr std::chrono::milliseconds kBetweenLooks{500};
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetweenLooks) return false;
  looked_ = now;
  return true;
}

/// A server that was started again has what its snapshot has; the rest is trained once more.
void ChiefOfWorkers::look_after_servers() {
  if (!looks_now()) return;
  take_up_lost_batches();
  if (std::chrono::steady_clock::now() - saved_ >= job_.times().snapshots) snapshot();
}

/// Also of an epoch all of whose batches were done; not of one that was stopped.
bool ChiefOfWorkers::take_up_lost_batches() {
  const uint64_t now = job_.coordinator().mark();
  int64_t all = 0;
  for (const uint64_t mark : job_.parameters().restarts()) {
    give_rates();  // it may have an older one
    const int64_t again = job_.coordinator().again_since(mark);
    log(LogChannel::warning,
        "a parameter server was started again from its snapshot; " + std::to_string(again) +
            " batches that came after it are trained once more" +
            (again == 0 && mark != now ? ", others are lost with the end of their epoch" : ""));
    all += again;
  }
  return all > 0;
}

void ChiefOfWorkers::snapshot() {
  if (!has_snapshots_) return;
  const uint64_t mark = job_.coordinator().mark();
  has_snapshots_ = job_.parameters().snapshot(mark) != SnapshotState::none;
  saved_ = std::chrono::steady_clock::now();
}

/// As long as a process waits for any other one.
void ChiefOfWorkers::await_workers() {
  constexpr std::chrono::milliseconds kLook{50};
  ChiefAlone alone("ParameterServerStrategy: fit", job_.times().timeout);
  while (job_.coordinator().num_workers() == 0) {
    alone.look(0);
    std::this_thread::sleep_for(kLook);
  }
}

void ChiefOfWorkers::add(const std::vector<double>& values) {
  CompiledTraining& compiled = model_.compiled_training();
  EpochSums& sums = model_.epoch_sums();
  const auto of_compiled = static_cast<size_t>(compiled.num_sums);
  if (values.size() < of_compiled + 2)
    throw CommunicationError("ParameterServerStrategy: a worker has " + std::to_string(values.size()) +
                             " sums of losses and metrics, the chief " + std::to_string(of_compiled + 2) +
                             "; all processes run the same program");
  if (values[0] != 0.0) sums.loss_is_tracked = true;
  sums.rows += values[1];
  const std::span<const double> rest = std::span(values).subspan(2);
  const Tensor of_batch = Tensor::from(std::vector<double>(rest.begin(), rest.begin() + compiled.num_sums));
  const std::vector<double> all = summed(compiled, {sums.of_replicas.at(0), of_batch});
  sums.of_replicas[0].copy_from_host(all.data());
  add_to_own_metrics(rest.subspan(of_compiled));
}

void ChiefOfWorkers::add_to_own_metrics(std::span<const double> states) {
  const std::vector<Metric>& metrics = model_.own_metrics();
  size_t known = 0;
  for (; known < metrics.size() && !states.empty(); ++known) {
    const MetricNode& metric = metrics[known].node();
    if (!(states[0] >= 0.0 && states[0] < static_cast<double>(states.size()))) break;
    const auto size = static_cast<size_t>(states[0]);
    if (size > 0 && size != metric.initial_state().size()) break;
    const std::span<const double> state = states.subspan(1, size);
    states = states.subspan(size + 1);
    if (size == 0) continue;  // it saw no rows
    std::vector<std::vector<double>> parts = metrics[known].sums().parts(metric);
    parts.emplace_back(state.begin(), state.end());
    metrics[known].sums().set(metric.merged(parts));
  }
  if (known < metrics.size() || !states.empty())
    throw CommunicationError("ParameterServerStrategy: model " + in_quotes(model_.name()) +
                             " keeps other metrics of its own in a worker than in the chief; all processes "
                             "run the same program");
}

void ChiefOfWorkers::take_over() {
  RemoteParameters& parameters = job_.parameters();
  parameters.pull();
  take_state_from_servers(model_.compiled_training().optimizer.node(), parameters);
  for (const Known& own : std::span(known_).subspan(1)) take_own_optimizer(own.optimizer, model_, parameters);
  for (Known& one : known_) one.times_loaded = one.optimizer.optimizer.node().times_loaded();
}

void ChiefOfWorkers::give_rates() {
  for (Known& one : known_) {
    one.rates = rates_for_servers(one.optimizer.optimizer.node());
    job_.parameters().set_learning_rates(one.rates, one.optimizer.name);
  }
}

// A state brings its rate.
void ChiefOfWorkers::give_optimizers() {
  for (Known& one : known_) {
    const BaseOptimizer& node = one.optimizer.optimizer.node();
    if (node.times_loaded() != std::exchange(one.times_loaded, node.times_loaded()))
      give_state_to_servers(node, job_.parameters(), false, one.optimizer.name);
    const RemoteParameters::Rates now = rates_for_servers(node);
    if (now != std::exchange(one.rates, now)) job_.parameters().set_learning_rates(now, one.optimizer.name);
  }
}

void ChiefOfWorkers::give_back() {
  job_.parameters().publish();
  give_optimizers();
}

void ChiefOfWorkers::end(const FinishedEpochs& finished) {
  job_.parameters().publish();
  job_.coordinator().end_training(result_of(model_, finished));
}

namespace {

/// While it lives a worker takes part in a training: the chief changes nothing of what it ended with until
/// the worker has that.
class TakesPart {
 public:
  TakesPart(CoordinatorClient& chief, uint64_t training) : chief_(chief), training_(training) {}
  ~TakesPart() { chief_.left(training_); }
  TakesPart(const TakesPart&) = delete;
  TakesPart& operator=(const TakesPart&) = delete;

 private:
  CoordinatorClient& chief_;
  uint64_t training_;
};

/// While it lives the replicas of this process are those of one piece among all of a step.
class PartOfStep {
 public:
  /// `in_parts`: what its train_step() applies takes effect each time.
  PartOfStep(ParameterServerJob& job, const StepPiece& piece, uint64_t training, int replicas, bool in_parts)
      : job_(job),
        exchange_(std::make_shared<PieceExchange>(
            [&chief = job.client(), training, piece](uint64_t number, const std::string& what,
                                                     std::span<const std::byte> own) {
              return chief.meet(training, piece, number, what, own);
            },
            piece, replicas)) {
    job_.parameters().set_piece(piece, in_parts ? [this] { meet(); } : std::function<void()>());
    if (piece.pieces > 1) job_.take_part(exchange_);
  }
  ~PartOfStep() {
    job_.take_part(nullptr);
    job_.parameters().set_piece({});
  }
  PartOfStep(const PartOfStep&) = delete;
  PartOfStep& operator=(const PartOfStep&) = delete;

  /// Whether what the worker computes of it is of no use any more.
  bool is_over() const { return exchange_->is_over() || job_.parameters().piece_is_lost(); }

 private:
  void meet() {
    if (exchange_->size() > 1) exchange_->agree(meetings_++, "gradients that a train_step applies");
  }

  uint64_t meetings_ = 0;
  ParameterServerJob& job_;
  std::shared_ptr<PieceExchange> exchange_;
};

/// While it lives exchanges are those of that batch.
class ExchangesOfBatch {
 public:
  ExchangesOfBatch(RemoteParameters& parameters, uint64_t id) : parameters_(parameters) {
    parameters_.set_batch(id);
  }
  ~ExchangesOfBatch() { parameters_.set_batch(0); }
  ExchangesOfBatch(const ExchangesOfBatch&) = delete;
  ExchangesOfBatch& operator=(const ExchangesOfBatch&) = delete;

 private:
  RemoteParameters& parameters_;
};

/// What a train_step() of the model's own leaves: it has applied its gradients by then.
void push_what_is_left(const ModelNode& model, ParameterServerJob& job) {
  if (model.overrides().train_step) job.parameters().push_state();
}

/// A worker that asks at once may get the same piece again.
constexpr std::chrono::milliseconds kBeforeTheNext{20};

/// False where the step ended without it.
bool train_piece(ModelNode& model, ParameterServerJob& job, Stepper& stepper, const Batch& batch,
                 const BatchPlace& place, const StepPiece& piece, uint64_t training) {
  const PartOfStep part(job, piece, training, model.strategy()->num_local_replicas(),
                        model.overrides().train_step);
  try {
    job.parameters().pull();
    job.parameters().take_share(piece, place.rows > 0 ? place.rows : num_rows(batch, "a batch"));
    stepper.train(batch, place);
    push_what_is_left(model, job);
  } catch (const std::exception&) {
    if (!part.is_over()) throw;
    if (!job.parameters().piece_is_lost()) return false;
    job.client().behind(training, piece);
    std::this_thread::sleep_for(kBeforeTheNext);
    return false;
  }
  return true;
}

void train_batch(ModelNode& model, ParameterServerJob& job, Stepper& stepper, Feed& feed,
                 const DispensedBatch& given, uint64_t training) {
  Batch batch;
  if (!feed.seek(given.epoch, given.batch) || !feed.next(batch)) {
    job.client().ended(training, given.id);
    return;
  }
  stepper.reset();
  model.resume_point().train_step = given.step;
  job.parameters().use_rule({});
  if (given.piece.id != 0) {
    if (!train_piece(model, job, stepper, batch, feed.place(), given.piece, training)) return;
  } else {
    if (given.pull_first) job.parameters().pull();
    const ExchangesOfBatch numbered(job.parameters(), given.id);
    stepper.train(batch, feed.place());
    push_what_is_left(model, job);
  }
  job.client().done(training, given, values_of(model));
}

}  // namespace

FinishedEpochs train_for_chief(ModelNode& model, ParameterServerJob& job, const TrainingFacts& facts,
                               Stepper& stepper, const std::function<Feed()>& make_feed) {
  const uint64_t training = job.next_training();
  job.served_optimizer.reset();  // functions that come later give theirs
  const ScopedValue<std::weak_ptr<const void>> served(job.served_optimizer,
                                                      model.compiled_training().optimizer.shared());
  std::vector<ParameterServerJob::OwnOptimizer> own;
  for (const NamedOptimizer& one : own_optimizers_of(model))
    own.push_back({one.optimizer.shared(), one.name});
  const ScopedValue own_optimizers(job.own_optimizers, std::move(own));
  for (const NamedOptimizer& one : optimizers_of(model)) count_by_servers(one.optimizer.shared(), job);
  const TakesPart takes_part(job.client(), training);
  CoordinatorReply reply =
      job.client().join(training, text_of(facts), model.strategy()->num_local_replicas());
  try {
    if (reply.kind == CoordinatorReply::Kind::begins) {
      model.resume_point().shuffle_seed = whole_number_of(reply.text);
      Feed feed = make_feed();
      job.parameters().pull();
      stepper.clear_status();
      for (reply = job.client().next(training); reply.kind == CoordinatorReply::Kind::batch;
           reply = job.client().next(training))
        train_batch(model, job, stepper, feed, reply.batch, training);
    }
  } catch (const CommunicationError&) {
    throw;
  } catch (const std::exception& error) {
    job.client().fail(training, "worker " + std::to_string(job.place.index) + ": " + error.what());
    throw;
  } catch (...) {
    job.client().fail(
        training, "worker " + std::to_string(job.place.index) + ": an exception that is no std::exception");
    throw;
  }
  job.parameters().pull();
  return take_result(model, reply.text);
}

}  // namespace nyala
