// A failed step leaves weights as they were on some processes and not on others, which may be one step ahead:
// nobody tries a step again from what it has. All go on from one copy, that of the most advanced process.
#include <nyala/api/training/recovery.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include <nyala/api/callbacks/base/end_of_training.h>
#include <nyala/api/model/model_node.h>
#include <nyala/api/training/callback_list.h>
#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/earlier_trainings.h>
#include <nyala/api/training/state_broadcast.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/communicators/call_header.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/strategies/texts_of_all.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// What copies may cost of a step's time.
constexpr double kShare = 0.05;
/// That often the same processes may fail at the same place: then it is the program.
constexpr int kStandstills = 2;
/// So often one may be lost while all meet.
constexpr int kLosses = 30;

/// What a process says of itself when all meet.
struct Report {
  int64_t training, kind, settings, is_new, has_copy, epoch, batch, epoch_has_begun, awaited;
  auto progress() const { return std::tuple(epoch, batch, epoch_has_begun); }
};

std::string text_of(const TrainingPosition& position) {
  return "epoch " + std::to_string(position.epoch + 1) + ", batch " + std::to_string(position.batch);
}

/// The process whose copy is the most advanced one.
int most_advanced(const std::vector<Report>& all) {
  int best = -1;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const Report& one = all[static_cast<size_t>(rank)];
    if (one.has_copy && (best < 0 || one.progress() > all[static_cast<size_t>(best)].progress())) best = rank;
  }
  return best;
}

/// Those that were started again with another model or other settings than the others.
std::vector<int> strangers(const std::vector<Report>& all, int root) {
  const Report& known = all[static_cast<size_t>(root)];
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const Report& one = all[static_cast<size_t>(rank)];
    if (one.is_new && (one.kind != known.kind || one.settings != known.settings)) ranks.push_back(rank);
  }
  return ranks;
}

/// "in call number 2 of fit", "in call number 3 behind call number 2 of fit".
std::string text_of_call(int64_t number) {
  const int64_t training = ProcessGenerations::training_of(number),
                call = number - ProcessGenerations::first_of(training);
  const std::string fit = "call number " + std::to_string(training) + " of fit";
  return call == 0 ? fit : "call number " + std::to_string(call) + " behind " + fit;
}

/// The same on all processes. Of those that were started again the others do not depend.
void check_together(const std::vector<Report>& all, const std::string& what) {
  const auto first = std::ranges::find(all, 0, &Report::is_new);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::string who = what + "ranks " + std::to_string(first - all.begin()) + " and " +
                            std::to_string(rank) + " cannot go on together: ";
    if (first == all.end() || all[rank].is_new) continue;
    if (all[rank].training != first->training)
      throw StateError(who + "they are in " + text_of_call(first->training) + " and in " +
                       text_of_call(all[rank].training));
    if (all[rank].kind != first->kind)
      throw StateError(who + "their models have other variables or optimizers");
  }
  if (most_advanced(all) < 0)
    throw StateError(
        what +
        "a process was lost where no step has been made, and there is nothing to go on from: the state of "
        "the model lies in all processes (variables that are sums over replicas, gradients that are gathered "
        "over several steps); start all again");
}

}  // namespace

Recovery::Recovery(const std::shared_ptr<ModelNode>& model, CallbackList& callbacks, const char* call)
    : call_(call),
      who_(std::string(call ? call : "fit") + ": "),
      shared_(model),
      model_(*model),
      callbacks_(callbacks),
      generations_(model->strategy()->generations()),
      in_call_(generations_) {
  if (generations_) training_ = call ? generations_->count_call() : generations_->count_training();
}

bool Recovery::is_past() const {
  return generations_ && generations_->link().is_apart() && training_ < generations_->link().training();
}

bool Recovery::is_awaited() const { return generations_ && generations_->link().is_apart() && !is_past(); }

void Recovery::pass_over(const std::function<void()>& learn) {
  const bool stood_still = has_copy_;
  pass_over_training(*generations_, training_, shared_, learn);
  log(LogChannel::warning, "fit: the others did " + text_of_call(training_) + " " +
                               (stood_still ? "to its end while this process stood still"
                                            : "before this process was started again") +
                               ". It is passed over; what it made of the model comes when " +
                               text_of_call(generations_->link().training()) +
                               ", which they are in, begins here");
}

void Recovery::begin(const TrainingPosition& position, TrainingFacts settings) {
  begin_ = position;
  settings_ = std::move(settings);
}

void Recovery::keep_begin() {
  if (!generations_ || has_copy_ || !can_be_copied(model_) || !is_copied_together(model_)) return;
  copy_here(begin_, state_.finished);
  is_of_begin_ = true;
}

void Recovery::keep(const TrainingPosition& position, const FinishedEpochs& finished) {
  if (!generations_) return;
  ++since_;
  ++steps_here_;
  if ((has_copy() && since_ < every_) || !can_be_copied(model_)) return;
  const Clock::time_point begun = Clock::now();
  copy(position, finished);
  measure(begun, Clock::now());
  since_ = 0;
  last_ = Clock::now();
}

void Recovery::keep_epoch(const TrainingPosition& position, const FinishedEpochs& finished) {
  if (!generations_ || !can_be_copied(model_)) return;
  // What the hooks write is written when all have come through them: before nobody is beyond this epoch.
  said_by_all(generations_->link(), training_, "the end of an epoch");
  copy(position, finished);
  align();
  since_ = 0;
  last_ = Clock::now();
}

void Recovery::copy_here(const TrainingPosition& position, const FinishedEpochs& finished) {
  copy_state(model_, state_);
  state_.callbacks = callbacks_.states();
  state_.position = position;
  state_.epoch_has_begun = position.batch > 0 || begun_epoch_ == position.epoch;
  if (state_.finished.size() != finished.size()) state_.finished = finished;
  has_copy_ = true;
  is_of_begin_ = false;
}

void Recovery::copy(const TrainingPosition& position, const FinishedEpochs& finished) {
  copy_here(position, finished);
  if (std::exchange(open_generation_, generations_->number()) != generations_->number())
    generations_->take_newcomers(true);
}

void Recovery::align() {
  struct Standing {
    uint64_t values;
    int64_t steps;
  };
  uint64_t number = 0;
  for (const Tensor& value : state_.values) number = mix_key(number, stable_hash(value.raw(), value.bytes()));
  const Standing own{number, steps_here_};
  const std::vector<Standing> all = said_by_all(generations_->link(), own, "what callbacks left");
  if (std::ranges::all_of(all, [&](const Standing& one) { return one.values == all[0].values; })) return;
  const auto oldest = std::ranges::max_element(all, {}, &Standing::steps);
  const int root = static_cast<int>(oldest - all.begin());
  const auto is_newer = [&](const Standing& one) { return one.steps != all[0].steps; };
  tell_of_differences(root, std::ranges::any_of(all, is_newer));
  take_from(root);
}

/// All processes call it.
void Recovery::tell_of_differences(int root, bool has_newcomers) {
  const std::string taken = "; all take those of rank " + std::to_string(root),
                    differ =
                        "fit: the processes begin or end an epoch with different weights or learning "
                        "rates, as where ";
  if (has_newcomers)
    return log(LogChannel::info,
               differ + "callbacks of a new one know less" + taken + ", which trains longest");
  const std::string list = differences(generations_->link(), facts_of_epoch(model_));
  log(LogChannel::warning,
      differ + "a callback changes them in some processes only" + (list.empty() ? "" : ": " + list) + taken);
}

void Recovery::align_newcomers(const TrainingPosition& position, const FinishedEpochs& finished) {
  if (!generations_ || !can_be_copied(model_)) return;
  const std::vector<int64_t> steps = said_by_all(generations_->link(), steps_here_, "who is new to training");
  if (std::ranges::all_of(steps, [&](int64_t one) { return one == steps[0]; })) return;
  copy(position, finished);
  align();
}

void Recovery::call_at_edge(const std::function<void()>& hooks) {
  ProcessExchange* const processes = model_.strategy()->processes();
  if (generations_ || !processes) {
    try {
      return hooks();
    } catch (const CommunicationError&) {
      throw;
    } catch (const EndOfTraining&) {
      throw;
    } catch (const std::exception& error) {
      end(error.what());
      throw;
    }
  }
  std::string failure;
  std::exception_ptr error;
  try {
    hooks();
  } catch (const CommunicationError&) {
    throw;
  } catch (const std::exception& thrown) {
    error = std::current_exception();
    failure = *thrown.what() ? thrown.what() : "an error without a text";
  } catch (...) {
    error = std::current_exception();
    failure = "an exception that is no std::exception";
  }
  const std::vector<std::string> failures =
      texts_of_all(*processes, failure, "whether hooks of callbacks failed");
  if (error) std::rethrow_exception(error);
  for (size_t rank = 0; rank < failures.size(); ++rank)
    if (!failures[rank].empty())
      throw CommunicationError("fit: a callback of rank " + std::to_string(rank) +
                               " failed at the beginning or the end of training: " + failures[rank]);
}

void Recovery::align_at_end() {
  if (!generations_) return;
  note_training(*generations_, training_, shared_);
  if (!can_be_copied(model_)) return;
  try {
    copy(state_.position, state_.finished);
    align();
  } catch (const CommunicationError& error) {
    if (!generations_->ended_by().empty()) rethrow(error);
    log(LogChannel::warning,
        "fit: training has ended, and then a process was lost: " + std::string(error.what()));
  }
}

void Recovery::measure(Clock::time_point begun, Clock::time_point ended) {
  const auto mean_with = [](double& mean, double seconds) {
    mean = mean == 0 ? seconds : (3 * mean + seconds) / 4;
  };
  if (last_ == Clock::time_point()) return;
  mean_with(copy_seconds_, std::chrono::duration<double>(ended - begun).count());
  mean_with(step_seconds_,
            std::chrono::duration<double>(begun - last_).count() / static_cast<double>(since_));
  const double every = std::ceil(copy_seconds_ / (kShare * step_seconds_));
  every_ = is_copied_together(model_) ? 1 : static_cast<int64_t>(std::clamp(every, 1.0, 1e6));
  generations_->kept = "fit keeps its state in memory every " +
                       (every_ == 1 ? std::string("step") : std::to_string(every_) + " steps") + " (" +
                       general_text(copy_seconds_ * 1e3, 3) + " ms, a step " +
                       general_text(step_seconds_ * 1e3, 3) + " ms)";
}

bool Recovery::can_go_on() const { return generations_ && generations_->can_go_on(); }

// A process without a copy may be in the middle of building what the others have: it does so by itself.
// Before the first step nothing has changed since training began, so that the model is the copy. False where
// newcomers are refused.
bool Recovery::meet(const std::function<void()>& learn) {
  ProcessLink& link = generations_->link();
  const AwaitedInUse in_use(*generations_);
  if (!has_copy_) {
    link.set_apart(true);
    learn();
  }
  link.set_apart(false);
  if (!has_copy_ && !is_new_ && can_be_copied(model_) && !is_copied_together(model_))
    copy_here(begin_, state_.finished);
  const Report own{training_,
                   static_cast<int64_t>(kind_of_state(model_)),
                   static_cast<int64_t>(number_of(settings_)),
                   is_new_,
                   has_copy_,
                   state_.position.epoch,
                   state_.position.batch,
                   state_.epoch_has_begun,
                   number_of_awaited(*generations_, model_)};
  const std::vector<Report> all = said_by_all(link, own, "where training stands");
  check_together(all, who_);
  const int root = most_advanced(all);
  if (const std::vector<int> ranks = strangers(all, root); !ranks.empty()) {
    refuse_newcomers(ranks, std::ranges::find(ranks, link.rank()) != ranks.end());
    return false;
  }
  check_alike(&link, settings_);
  size_ = link.size();
  newcomers_ = static_cast<int>(std::ranges::count(all, 1, &Report::is_new));
  take_from(root);
  is_new_ = false;
  note_taken(*generations_, model_);
  if (std::ranges::any_of(all, [](const Report& one) { return one.awaited > 0; }))
    take_earlier(*generations_, root, model_);
  return true;
}

/// All processes call it: who `is_one` of them ends.
void Recovery::refuse_newcomers(const std::vector<int>& ranks, bool is_one) {
  std::string list = differences(generations_->link(), settings_);
  if (list.empty()) list = "their models have other variables or optimizers";
  if (is_one) {
    is_refused_ = true;
    throw StateError(who_ +
                     "this process was started again with another model or other settings than the "
                     "others, who go on without it: " +
                     list + ". It has to run the program of the others with their settings");
  }
  for (const int rank : ranks)
    log(LogChannel::warning, who_ + "rank " + std::to_string(rank) +
                                 " was started again with another model or other settings, and is not taken "
                                 "in: " +
                                 list);
}

void Recovery::take_from(int root) {
  broadcast_state(*generations_, root, state_);
  has_copy_ = true;
  is_of_begin_ = false;
  restore();
}

void Recovery::restore() {
  restore_state(model_, state_);
  callbacks_.set_states(state_.callbacks);
  since_ = 0;
  last_ = {};
}

std::string Recovery::goes_on() const {
  return call_ ? std::string(call_) + " again" : "on at " + text_of(state_.position);
}

const TrainingState* Recovery::go_on_here(const std::function<void()>& learn) {
  is_new_ = true;
  try {
    if (meet(learn)) {
      log(LogChannel::warning,
          who_ + "this process has the others' state, and " + (call_ ? "begins " : "goes ") + goes_on());
      return &state_;
    }
  } catch (const CommunicationError& error) {
    if (!can_go_on()) throw;
    return go_on_after(error, learn);
  }
  return go_on_after(PeerLostError("a process was started again with other settings"), learn);
}

const TrainingState* Recovery::go_on_after(const CommunicationError& error,
                                           const std::function<void()>& learn) {
  const Clock::time_point begun = Clock::now();
  const int before = generations_->link().size();
  int vain = 0, losses = 0;
  for (bool met = false; !met;) {
    try {
      generations_->begin_next(training_);
    } catch (const CommunicationError& next) {
      const std::string text = std::string(error.what()) + "; no others to go on with: " + next.what();
      if (dynamic_cast<const PeerLostError*>(&error)) throw PeerLostError(text);
      throw CommunicationError(text);
    }
    if (is_past()) return nullptr;
    try {
      met = meet(learn);
      if (!met && ++losses == kLosses) throw StateError("newcomers come again and again with other settings");
    } catch (const StateError& state) {
      throw StateError(std::string(state.what()) + " (" + error.what() + ")");
    } catch (const PeerLostError&) {
      if (!can_go_on() || ++losses == kLosses) throw;
    } catch (const TimeoutError& timeout) {  // nor would they come if all waited once more
      if (can_go_on()) end(timeout.what());
      throw;
    } catch (const CommunicationError&) {
      if (!can_go_on() || ++vain > kStandstills) throw;
    }
  }
  const bool stands_still = size_ == before && newcomers_ == 0 && state_.position == met_at_;
  standstills_ = stands_still ? standstills_ + 1 : 0;
  met_at_ = state_.position;
  if (standstills_ == kStandstills) {
    const std::string text = std::string(error.what()) + " (again and again" +
                             (call_ ? "" : " at " + text_of(met_at_)) + ", and no process was lost)";
    end(text);
    throw CommunicationError(text);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  log(LogChannel::warning, who_ + error.what() + ". After " + general_text(seconds, 3) + " s " +
                               std::to_string(size_) + " processes (" + std::to_string(before) + " before, " +
                               std::to_string(newcomers_) + " started again) " + (call_ ? "begin " : "go ") +
                               goes_on() + ", in generation " + std::to_string(generations_->number()));
  return &state_;
}

void Recovery::finish() {
  if (!generations_) return;
  generations_->take_newcomers(false);  // what follows does not go on without who is lost then
  open_generation_ = generations_->number();
  said_by_all(generations_->link(), training_, "the end of fit");
}

void Recovery::rethrow(const CommunicationError& error) const {
  const std::string reason = generations_ ? generations_->ended_by() : "", text = error.what();
  if (reason.empty() || text.find(reason) != std::string::npos) throw;
  throw CommunicationError(std::string(call_ ? call_ : "fit") + " was ended by another process: " + reason +
                           " (here: " + text + ")");
}

void Recovery::end(const std::string& reason) noexcept {
  if (generations_ && !is_refused_) generations_->end(reason);
}

}  // namespace nyala
