// The loop of fit() in the order of Keras' Trainer.fit (keras/src/backend/tensorflow/trainer.py): epochs,
// chunks of steps_per_execution batches, validation. A resumed training (ResumePoint) enters it in the middle
// of an epoch.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include <nyala/api/base/output.h>
#include <nyala/api/callbacks/base/end_of_training.h>
#include <nyala/api/callbacks/base/history.h>
#include <nyala/api/callbacks/base/progbar_logger.h>
#include <nyala/api/model/model.h>
#include <nyala/api/training/among_processes.h>
#include <nyala/api/training/callback_list.h>
#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/facts_of_rows.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/api/training/evaluate.h>
#include <nyala/api/training/feature_cache.h>
#include <nyala/api/training/feed.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/training/recovery.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/api/training/stepper.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/memory_report.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Cuts the last part of the arrays off for validation, before any shuffling (Keras' rule).
std::pair<DataArgument, DataArgument> split_validation(const DataArgument& data, double fraction) {
  if (data.is_dataset())
    throw InvalidArgumentError("fit: validation_split works for arrays; for a Dataset pass validation_data");
  if (!(fraction >= 0.0 && fraction < 1.0))  // NaN is neither
    throw InvalidArgumentError("fit: expected validation_split in [0, 1), received " + number_text(fraction));
  const int64_t rows = data.rows();
  const int64_t cut = static_cast<int64_t>(std::floor(static_cast<double>(rows) * (1.0 - fraction)));
  if (cut == 0 || cut == rows)
    throw InvalidArgumentError("fit: validation_split " + number_text(fraction) + " of " +
                               std::to_string(rows) + " rows leaves no rows on one side");
  DataArgument training = data, validation = data;
  training.arrays() = rows_of(data.arrays(), 0, cut);
  validation.arrays() = rows_of(data.arrays(), cut, rows - cut);
  return {training, validation};
}

bool validates(const FitConfig& config, int epoch) {
  if (!config.validation_epochs.empty())
    return std::find(config.validation_epochs.begin(), config.validation_epochs.end(), epoch + 1) !=
           config.validation_epochs.end();
  return (epoch + 1) % config.validation_freq == 0;
}

class Fit {
 public:
  Fit(Model model, DataArgument data, const FitConfig& config);
  History run();

 private:
  static FeedConfig training_feed(const Model& model, const FitConfig& config);
  StrategyNode& strategy() const { return *model_.model_node().strategy(); }
  /// Ends training on all processes where one of them stops.
  bool stops();
  bool next(Batch& batch, bool may_stop = true);
  History detached_history() const;
  bool train();
  void check_processes();
  TrainingFacts facts_of_workers() const;
  void check_epoch(const TrainingPosition& position);
  void train_from(int epoch);
  int first_epoch();
  void learn_shapes();
  int go_on_from(const TrainingState& state);
  void show_progress();
  int64_t begin_epoch(int epoch);
  void call_epoch_begin(int epoch, int64_t step);
  void train_epoch(int epoch);
  void check_workers();
  void train_epoch_by_workers(int epoch);
  History train_for_the_chief();
  void run_chunk(int64_t first, Batch& batch);
  Logs end_of_epoch(int epoch);
  void validate(Logs& logs);
  std::vector<CallbackArgument> all_callbacks();

  Model model_;
  const FitConfig& config_;
  CompiledTraining& compiled_;
  ResumePoint& resume_;
  std::pair<DataArgument, DataArgument> data_;
  std::optional<FeatureCache> cache_;
  Stepper stepper_;
  Feed feed_;
  History history_;
  int verbose_;
  CallbackList callbacks_;
  Recovery recovery_;
  std::optional<ChiefOfWorkers> workers_;  // where others train for this process
  FinishedEpochs finished_;
  int begun_epoch_ = -1;
  bool is_newcomer_ = false;  // to the epoch that others are in the middle of
  bool is_checked_ = false;
};

/// Keras takes a negative number for no epochs, and says nothing.
void check_epochs(const FitConfig& config) {
  for (const auto& [name, value] :
       {std::pair("epochs", config.epochs), std::pair("initial_epoch", config.initial_epoch)})
    if (value < 0)
      throw InvalidArgumentError(std::string("fit: expected ") + name + " >= 0, received " +
                                 std::to_string(value));
  if (config.validation_freq < 1)
    throw InvalidArgumentError("fit: expected validation_freq >= 1, received " +
                               std::to_string(config.validation_freq));
  if (config.validation_steps < 0)
    throw InvalidArgumentError("fit: expected validation_steps >= 0, received " +
                               std::to_string(config.validation_steps));
}

std::pair<DataArgument, DataArgument> prepared(DataArgument data, const FitConfig& config,
                                               const ModelNode& model) {
  check_epochs(config);
  give_weights(data, config.sample_weight, model, "fit");
  fit_inputs(data, model);
  if (config.validation_data.is_dataset() && config.validation_steps == 0 &&
      config.validation_data.dataset().cardinality() == kInfiniteCardinality)
    throw InvalidArgumentError("fit: the Dataset of validation_data never ends; give validation_steps");
  const bool weighted = !data.is_dataset() && data.arrays().sample_weight.defined();
  if (weighted && !config.class_weight.empty())
    throw InvalidArgumentError("fit: class_weight and sample_weight cannot be used together");
  if (config.validation_data || config.validation_split == 0.0) return {data, config.validation_data};
  return split_validation(data, config.validation_split);
}

FeedConfig Fit::training_feed(const Model& model, const FitConfig& config) {
  return {.batch_size = config.batch_size,
          .shuffle = config.shuffle,
          .shuffle_seed = model.model_node().resume_point().shuffle_seed,
          .class_weight = config.class_weight,
          .steps_per_epoch = config.steps_per_epoch,
          .reads_for = config.cache_frozen_features ? nullptr : model.model_node().strategy().get()};
}

Fit::Fit(Model model, DataArgument data, const FitConfig& config)
    : model_(std::move(model)),
      config_(config),
      compiled_(compiled_training_of(model_, "fit")),
      resume_(model_.model_node().resume_point()),
      data_(prepared(std::move(data), config, model_.model_node())),
      stepper_(model_.model_node()),
      feed_(data_.first, training_feed(model_, config)),
      verbose_(resolved_verbosity(strategy(), config.verbose)),
      callbacks_(model_, all_callbacks(), {verbose_, config.epochs, feed_.steps()}),
      recovery_(std::static_pointer_cast<ModelNode>(model_.shared()), callbacks_) {
  check_workers();
  stepper_.set_given(data_.first);
  if (!config.cache_frozen_features) return;
  cache_.emplace(model_.model_node());
  stepper_.use(&*cache_);
}

void Fit::check_workers() {
  if (strategy().parameter_server_job() && config_.cache_frozen_features)
    throw InvalidArgumentError(
        "fit: cache_frozen_features keeps what one process computes of all batches; under "
        "ParameterServerStrategy "
        "workers have some of them each, leave it out");
}

std::vector<CallbackArgument> Fit::all_callbacks() {
  std::vector<CallbackArgument> all = config_.callbacks;
  if (verbose_ != 0) all.emplace_back(ProgbarLogger());
  all.emplace_back(history_);
  return all;
}

/// What the chief and the workers have alike.
TrainingFacts Fit::facts_of_workers() const {
  TrainingFacts facts = settings_of_fit(model_.model_node(), config_);
  if (data_.first.is_dataset()) return facts;
  for (auto& fact : facts_of_rows(data_.first.arrays())) facts.push_back(std::move(fact));
  return facts;
}

/// Where others train: callbacks are called at the chief alone.
History Fit::train_for_the_chief() {
  learn_shapes();
  finished_ = train_for_chief(model_.model_node(), *strategy().parameter_server_job(), facts_of_workers(),
                              stepper_, [this] { return Feed(data_.first, training_feed(model_, config_)); });
  Logs none;
  history_.on_train_begin(none);
  for (auto& [epoch, logs] : finished_) history_.on_epoch_end(epoch, logs);
  return detached_history();
}

History Fit::run() {
  ParameterServerJob* const job = strategy().parameter_server_job();
  strategy().end_pass();  // of a loop without a walk
  if (job && !job->is_chief()) return train_for_the_chief();
  const auto pass_over = [this] {
    recovery_.pass_over([this] { learn_shapes(); });
    return detached_history();
  };
  if (recovery_.is_past()) return pass_over();
  Logs logs;
  if (compiled_.trained) {
    model_.model_node().check_variables();
    follow_variables(model_.model_node());
  }
  model_.set_stop_training(false);
  stepper_.clear_status();
  resume_.epoch = resume_.resumed = -1;
  resume_.batch = 0;
  if (job) {
    learn_shapes();
    workers_.emplace(model_.model_node(), *job);
  }
  recovery_.call_at_edge([&] { callbacks_.call(&Callback::on_train_begin, logs); });
  if (!train()) return pass_over();
  compiled_.optimizer.node().finalize_averages();
  Logs epoch_logs = finished_.empty() ? Logs() : finished_.back().second;
  recovery_.call_at_edge([&] { callbacks_.call(&Callback::on_train_end, epoch_logs); });
  if (workers_) workers_->end(finished_);
  recovery_.align_at_end();
  return detached_history();
}

/// Not of this model any more: it outlives this object, and perhaps the model.
History Fit::detached_history() const {
  History history = history_;
  history.attach({.parameters = history.parameters()});
  return history;
}

// An error of the program ends training in all processes, the loss of one does not. False where the others
// have done it to its end without this process.
bool Fit::train() {
  try {
    int epoch = first_epoch();
    if (workers_) workers_->begin(facts_of_workers());
    recovery_.begin({epoch, resume_.batch}, settings_of_fit(model_.model_node(), config_));
    is_checked_ = recovery_.is_awaited();
    const auto learn = [this] { learn_shapes(); };
    if (is_checked_) {
      const TrainingState* const state = recovery_.go_on_here(learn);
      if (!state) return false;
      epoch = go_on_from(*state);
      callbacks_.take_over(finished_);
    }
    for (bool done = false; !done;) {
      try {
        check_processes();
        recovery_.keep_begin();
        train_from(epoch);
        recovery_.finish();
        done = true;
      } catch (const CommunicationError& error) {
        if (!recovery_.can_go_on()) recovery_.rethrow(error);
        const TrainingState* const state = recovery_.go_on_after(error, learn);
        if (!state) return false;
        epoch = go_on_from(*state);
      }
    }
    return true;
  } catch (const CommunicationError& error) {
    if (workers_) workers_->fail(error.what());
    throw;
  } catch (const EndOfTraining& error) {
    if (workers_) workers_->fail(error.what());
    throw;
  } catch (const std::exception& error) {
    if (workers_) workers_->fail(error.what());
    recovery_.end(error.what());
    throw;
  } catch (...) {
    recovery_.end("fit ended by what is no std::exception");
    throw;
  }
}

// Once: of processes that meet later Recovery asks.
void Fit::check_processes() {
  if (std::exchange(is_checked_, true)) return;
  check_alike(strategy().processes(), facts_of_fit(model_.model_node(), config_));
}

// What a hook at the beginning of an epoch changed, it has to change everywhere. Those of a process that is
// new to training may know less.
void Fit::check_epoch(const TrainingPosition& position) {
  ProcessExchange* const processes = strategy().processes();
  if (!processes || are_alike(processes, facts_of_epoch(model_.model_node()))) return;
  recovery_.align_newcomers(position, finished_);
  check_alike(processes, facts_of_epoch(model_.model_node()));
}

void Fit::train_from(int epoch) {
  for (; epoch < config_.epochs && !stops(); ++epoch) {
    train_epoch(epoch);
    Logs logs = end_of_epoch(epoch);
    callbacks_.call(&Callback::on_epoch_end, epoch, logs);
    if (workers_) workers_->give_back();
    finished_.emplace_back(epoch, logs);
    recovery_.keep_epoch({epoch + 1, 0}, finished_);
  }
}

/// As BackupAndRestore has it, with the history of the epochs before.
int Fit::go_on_from(const TrainingState& state) {
  resume_.epoch = state.position.epoch;
  resume_.batch = state.position.batch;
  is_newcomer_ = state.epoch_has_begun && begun_epoch_ != resume_.epoch;
  if (!state.epoch_has_begun) begun_epoch_ = -1;
  finished_ = state.finished;
  Logs none;
  history_.on_train_begin(none);
  for (auto& [epoch, logs] : finished_) history_.on_epoch_end(epoch, logs);
  if (cache_) stepper_.use(&cache_.emplace(model_.model_node()));
  show_progress();
  return first_epoch();
}

/// Where the process that did so is lost, and this one has taken its place.
void Fit::show_progress() {
  if (verbose_ != 0) return;
  verbose_ = resolved_verbosity(strategy(), config_.verbose);
  if (verbose_ == 0) return;
  CallbackArgument progress{ProgbarLogger()};
  callbacks_.add(progress, model_, {verbose_, config_.epochs, feed_.steps()});
  Logs none;
  progress->on_train_begin(none);
  if (begun_epoch_ == resume_.epoch) progress->on_epoch_begin(begun_epoch_, none);
}

bool Fit::stops() {
  if (any_stops(strategy(), model_.stop_training())) model_.set_stop_training(true);
  return model_.stop_training();
}

bool Fit::next(Batch& batch, bool may_stop) {
  const NextBatch next = next_of_all(strategy(), feed_, batch, may_stop && model_.stop_training());
  if (next == NextBatch::is_not_wanted) model_.set_stop_training(true);
  return next == NextBatch::comes;
}

// A backup of the end of the last epoch is one of a training that was lost just before it returned.
int Fit::first_epoch() {
  resume_.resumed = resume_.epoch;
  if (resume_.epoch < 0) return config_.initial_epoch;
  if (resume_.epoch >= config_.epochs) {
    const std::string text = "nothing is left to train: the backup goes on at epoch " +
                             std::to_string(resume_.epoch) + ", batch " + std::to_string(resume_.batch) +
                             ", epochs is " + std::to_string(config_.epochs);
    if (resume_.epoch > config_.epochs || resume_.batch > 0)
      throw InvalidArgumentError("fit: " + text +
                                 "; the backup is kept: pass more epochs, or another folder");
    log(LogChannel::warning, "fit: " + text);
  }
  feed_ = Feed(data_.first, training_feed(model_, config_));  // a backup brings the seed of the shuffles
  return resume_.epoch;
}

/// The batch to begin with. Where a resumed epoch has none left, its metrics must be known without one.
int64_t Fit::begin_epoch(int epoch) {
  if (std::exchange(resume_.epoch, -1) < 0) {
    feed_.begin_epoch(epoch);
    return 0;
  }
  const int64_t done = feed_.resume(config_.initial_epoch, epoch, std::exchange(resume_.batch, 0));
  if (done > 0) learn_shapes();
  return done;
}

void Fit::learn_shapes() {
  Feed shapes(data_.first, training_feed(model_, config_));
  Batch batch;
  shapes.begin_epoch(config_.initial_epoch);
  if (shapes.next(batch)) stepper_.learn_shapes(batch);
}

/// Once in each process, unless training goes on from where nobody had called them. What a hook of one that
/// is new to the epoch did, the others' state has already; so has a backup of the middle of an epoch the
/// learning rate that a hook set at its beginning.
void Fit::call_epoch_begin(int epoch, int64_t step) {
  if (epoch == begun_epoch_) return;
  const Optimizer optimizer = step > 0 ? model_.optimizer() : Optimizer();
  const double rate = optimizer ? optimizer.learning_rate() : 0.0;
  Logs none;
  callbacks_.call(&Callback::on_epoch_begin, epoch, none);
  if (optimizer && optimizer.learning_rate() != rate) optimizer.set_learning_rate(rate);
  begun_epoch_ = epoch;
  recovery_.note_begun(epoch);
  if (!std::exchange(is_newcomer_, false)) return;
  recovery_.restore();
  if (step == 0) stepper_.reset();
}

/// Batches are counted as they are done. Callbacks of batches see values that are some batches old, a second
/// at most; where batches are trained in order they see those of now.
void Fit::train_epoch_by_workers(int epoch) {
  resume_.epoch = -1;
  resume_.batch = 0;
  stepper_.reset();
  call_epoch_begin(epoch, 0);
  workers_->give_back();
  constexpr std::chrono::seconds kBetweenLooks{1};
  auto looked = std::chrono::steady_clock::now();
  const auto is_seen = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (config_.callbacks.empty()) return false;
    if (!workers_->is_in_order() && now - looked < kBetweenLooks) return false;
    looked = now;
    return true;
  };
  Logs none;
  int64_t trained = 0;
  const auto begin = [&](int64_t batch) {
    callbacks_.call(&Callback::on_train_batch_begin, batch, none);
    if (!config_.callbacks.empty()) workers_->give_back();
  };
  const auto done = [&](int64_t count) {
    trained = count;
    if (is_seen()) workers_->take_over();
    Logs logs = Logs::of_now([this](Logs& target) { target = stepper_.logs(); });
    callbacks_.call(&Callback::on_train_batch_end, count - 1, logs);
    if (!config_.callbacks.empty()) workers_->give_back();
    return model_.stop_training();
  };
  workers_->train_epoch(epoch, feed_.steps(), {begin, done});
  const bool knows_all = config_.steps_per_epoch == 0 && feed_.steps() >= 0;
  if (knows_all && trained < feed_.steps() && !model_.stop_training())
    throw CommunicationError("fit: a worker's data ended behind " + std::to_string(trained) +
                             " batches of the epoch, the chief's has " + std::to_string(feed_.steps()) +
                             "; all processes have the same data");
  workers_->take_over();
}

void Fit::train_epoch(int epoch) {
  if (workers_) return train_epoch_by_workers(epoch);
  int64_t step = begin_epoch(epoch);
  if (step == 0) stepper_.reset();  // else the sums of the interrupted epoch go on
  call_epoch_begin(epoch, step);
  check_epoch({epoch, step});
  Batch batch;
  while (next(batch, step > 0)) {  // Keras: what stops an epoch before its first batch stops behind it
    if (!recovery_.has_copy()) {
      stepper_.learn_shapes(batch);
      recovery_.keep({epoch, step}, finished_);
    }
    run_chunk(step, batch);
    step += compiled_.config.steps_per_execution;
    recovery_.keep({epoch, step}, finished_);
  }
  if (step == 0 && feed_.is_empty()) throw InvalidArgumentError("fit: the data has no batches");
  if (cache_) cache_->end_epoch(config_.steps_per_epoch > 0);
  if (feed_.ran_out())
    log(LogChannel::warning,
        "the input ran out of data before the epoch was complete; for more steps than the data "
        "has batches use dataset.repeat()");
}

/// Batch callbacks see chunks of steps_per_execution batches, the last one as if it were whole (Keras).
void Fit::run_chunk(int64_t first, Batch& batch) {
  Logs none;
  callbacks_.call(&Callback::on_train_batch_begin, first, none);
  const int64_t count = compiled_.config.steps_per_execution;
  for (int64_t i = 0;;) {
    stepper_.train(batch, feed_.place());
    if (++i == count || !next(batch)) break;
  }
  Logs logs = Logs::of_now([this](Logs& target) { target = stepper_.logs(); });
  callbacks_.call(&Callback::on_train_batch_end, first + count - 1, logs);
}

Logs Fit::end_of_epoch(int epoch) {
  Logs logs = stepper_.logs();
  stepper_.check_status();
  if (!compiled_.warned_nan && logs.contains("loss") && std::isnan(logs["loss"])) {
    compiled_.warned_nan = true;
    log(LogChannel::warning,
        "the loss is NaN; a smaller learning rate, clipping, or TerminateOnNaN may help");
  }
  if (data_.second && validates(config_, epoch)) validate(logs);
  return logs;
}

void Fit::validate(Logs& logs) {
  const int64_t batch_size =
      config_.validation_batch_size ? config_.validation_batch_size : config_.batch_size;
  const EvaluateConfig config{.batch_size = data_.second.is_dataset() ? 0 : batch_size,
                              .verbose = 0,
                              .steps = config_.validation_steps,
                              .callbacks = config_.callbacks};
  const auto result = [&] {
    try {
      return evaluate_data(model_, data_.second, config, cache_ ? &*cache_ : nullptr);
    } catch (const NumericError&) {
      rethrow_with_prefix("validation data: ");
    } catch (const InvalidArgumentError&) {
      rethrow_with_prefix("fit: validation data: ");
    }
  }();
  std::map<std::string, std::vector<double>> sorted;
  for (const auto& [name, value] : logs) sorted[name] = logs.values(name);
  for (const auto& [name, value] : result) sorted["val_" + name] = result.values(name);
  logs = Logs();
  for (const auto& [name, values] : sorted) logs.set(name, values);
}

}  // namespace

History Model::fit(const Tensor& x, const Tensor& y, const FitConfig& config) const {
  return with_memory_errors("fit", [&] { return fit_data(DataArgument(x, y), config); });
}

History Model::fit(const Tensors& x, const Tensors& y, const FitConfig& config) const {
  return with_memory_errors("fit", [&] { return fit_data(DataArgument(x, y), config); });
}

History Model::fit(const Arrays& arrays, const FitConfig& config) const {
  return with_memory_errors("fit", [&] { return fit_data(arrays, config); });
}

History Model::fit(const Dataset& batches, const FitConfig& config) const {
  return with_memory_errors("fit", [&] { return fit_data(batches, config); });
}

History Model::fit_data(const DataArgument& data, const FitConfig& config) const {
  const ExclusiveUse alone(model_node(), "fit", Writes::trained);
  return Fit(*this, data, config).run();
}

}  // namespace nyala
