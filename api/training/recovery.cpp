// A failed step leaves weights as they were on some processes and not on others, which may be one step ahead:
// nobody tries a step again from what it has. All go on from one copy, that of the most advanced process.
#include <nyala/api/training/recovery.h>

#include <algorithm>
#include <cmath>
#include <string_view>
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
  int64_t training, kind, has_copy, epoch, batch, awaited;
  TrainingPosition position() const { return {static_cast<int>(epoch), batch}; }
};

std::string text_of(const TrainingPosition& position) {
  return "epoch " + std::to_string(position.epoch + 1) + ", batch " + std::to_string(position.batch);
}

/// The process whose copy is the most advanced one.
int most_advanced(const std::vector<Report>& all) {
  int best = -1;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const Report& one = all[static_cast<size_t>(rank)];
    if (one.has_copy && (best < 0 || one.position() > all[static_cast<size_t>(best)].position())) best = rank;
  }
  return best;
}

/// The same on all processes.
void check_together(const std::vector<Report>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::string who = "fit: ranks 0 and " + std::to_string(rank) + " cannot go on together: ";
    if (all[rank].training != all[0].training)
      throw StateError(who + "they are in the calls number " + std::to_string(all[0].training) + " and " +
                       std::to_string(all[rank].training) +
                       " of fit; a process that is started again has to run the program of the others");
    if (all[rank].kind != all[0].kind)
      throw StateError(who +
                       "their models have other variables or optimizers; a process that is started again "
                       "has to make the model of the others");
  }
  if (most_advanced(all) < 0)
    throw StateError(
        "fit: a process was lost before the first step, where there is nothing to go on from; start all "
        "again");
}

}  // namespace

Recovery::Recovery(const std::shared_ptr<ModelNode>& model, CallbackList& callbacks)
    : shared_(model), model_(*model), callbacks_(callbacks), generations_(model->strategy()->generations()) {
  if (generations_) training_ = generations_->count_training();
}

bool Recovery::is_past() const {
  return generations_ && generations_->link().is_apart() && training_ < generations_->link().training();
}

bool Recovery::is_awaited() const { return generations_ && generations_->link().is_apart() && !is_past(); }

void Recovery::pass_over(const std::function<void()>& learn) {
  pass_over_training(*generations_, training_, shared_, learn);
  log(LogChannel::warning,
      "fit: the others did this call (number " + std::to_string(training_) +
          ") before this process was started again. It is passed over; what it made of the model comes when "
          "call number " +
          std::to_string(generations_->link().training()) + ", which they are in, begins here");
}

void Recovery::keep(const TrainingPosition& position, const FinishedEpochs& finished) {
  if (!generations_) return;
  ++since_;
  ++steps_here_;
  if ((has_copy_ && since_ < every_) || !can_be_copied(model_)) return;
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

void Recovery::copy(const TrainingPosition& position, const FinishedEpochs& finished) {
  copy_state(model_, state_);
  state_.callbacks = callbacks_.states();
  state_.position = position;
  if (state_.finished.size() != finished.size()) state_.finished = finished;
  has_copy_ = true;
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
  log(LogChannel::info,
      "fit: the processes begin or end an epoch with different weights or learning rates, as where "
      "callbacks of a new one know less; all take those of rank " +
          std::to_string(root) + ", which trains longest");
  take_from(root);
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
  const std::vector<std::string> failures = texts_of_all(*processes, failure, "whether hooks of callbacks failed");
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
void Recovery::meet(const std::function<void()>& learn) {
  ProcessLink& link = generations_->link();
  const AwaitedInUse in_use(*generations_);
  if (!has_copy_) {
    link.set_apart(true);
    learn();
  }
  link.set_apart(false);
  const Report own{training_,
                   static_cast<int64_t>(kind_of_state(model_)),
                   has_copy_,
                   state_.position.epoch,
                   state_.position.batch,
                   number_of_awaited(*generations_, model_)};
  const std::vector<Report> all = said_by_all(link, own, "where training stands");
  check_together(all);
  check_alike(&link, facts_of_compile(model_));
  size_ = link.size();
  newcomers_ = static_cast<int>(std::ranges::count(all, 0, &Report::has_copy));
  const int root = most_advanced(all);
  take_from(root);
  note_taken(*generations_, model_);
  if (std::ranges::any_of(all, [](const Report& one) { return one.awaited > 0; }))
    take_earlier(*generations_, root, model_);
}

void Recovery::take_from(int root) {
  broadcast_state(*generations_, root, state_);
  has_copy_ = true;
  restore();
}

void Recovery::restore() {
  restore_state(model_, state_);
  callbacks_.set_states(state_.callbacks);
  since_ = 0;
  last_ = {};
}

const TrainingState& Recovery::go_on_here(const std::function<void()>& learn) {
  try {
    meet(learn);
  } catch (const CommunicationError& error) {
    if (!can_go_on()) throw;
    return go_on_after(error, learn);
  }
  log(LogChannel::warning,
      "fit: this process takes the others' training over at " + text_of(state_.position));
  return state_;
}

const TrainingState& Recovery::go_on_after(const CommunicationError& error,
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
    try {
      meet(learn);
      met = true;
    } catch (const StateError& state) {
      throw StateError(std::string(state.what()) + " (" + error.what() + ")");
    } catch (const PeerLostError&) {
      if (!can_go_on() || ++losses == kLosses) throw;
    } catch (const CommunicationError&) {
      if (!can_go_on() || ++vain > kStandstills) throw;
    }
  }
  const bool stands_still = size_ == before && newcomers_ == 0 && state_.position == met_at_;
  standstills_ = stands_still ? standstills_ + 1 : 0;
  met_at_ = state_.position;
  if (standstills_ == kStandstills) {
    const std::string text =
        std::string(error.what()) + " (again and again at " + text_of(met_at_) + ", and no process was lost)";
    end(text);
    throw CommunicationError(text);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  log(LogChannel::warning, "fit: " + std::string(error.what()) + ". After " + general_text(seconds, 3) +
                               " s " + std::to_string(size_) + " processes (" + std::to_string(before) +
                               " before, " + std::to_string(newcomers_) + " started again) go on at " +
                               text_of(state_.position) + ", in generation " +
                               std::to_string(generations_->number()));
  return state_;
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
  throw CommunicationError("fit was ended by another process: " + reason + " (here: " + text + ")");
}

void Recovery::end(const std::string& reason) noexcept {
  if (generations_) generations_->end(reason);
}

}  // namespace nyala
