// Synchronous training: the chief begins one step after the other, workers get its pieces and meet at the
// board where a layer needs the whole batch. Where a worker is lost and the others wait for what it would
// have brought, the step is begun again with those who are left.
#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/brought_answer.h>
#include <nyala/strategies/parameter_server/coordinator.h>

namespace nyala::detail {

void Coordinator::begin_step(int64_t epoch, int64_t batch, int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(events_, [](const CoordinatorEvent& event) {  // of a step that was given up
      return event.kind == CoordinatorEvent::Kind::step_done ||
             event.kind == CoordinatorEvent::Kind::epoch_over;
    });
    step_batch_ = {.id = steps_.id() + 1, .epoch = epoch, .batch = batch, .step = step, .pull_first = true};
    steps_.begin(step_batch_.id);
  }
  answer_waiting();
}

void Coordinator::begin_step_again() { begin_step(step_batch_.epoch, step_batch_.batch, step_batch_.step); }

uint64_t Coordinator::mark() const {
  const std::lock_guard lock(mutex_);
  return options_.is_synchronous ? steps_.id() : dispenser_.mark();
}

std::optional<CoordinatorReply> Coordinator::piece_for(uint64_t worker) {
  const std::optional<StepPiece> piece = steps_.next(worker, Clock::now());
  if (!piece) return std::nullopt;
  CoordinatorReply reply{.kind = CoordinatorReply::Kind::batch, .batch = step_batch_};
  reply.batch.piece = *piece;
  return reply;
}

/// A worker whose train_step() has ended comes to no meeting of it any more.
void Coordinator::fail_where_a_meeting_is_missed() {
  for (int piece = 0; piece < steps_.pieces(); ++piece) {
    const std::string what = steps_.is_done(piece) ? board_.waited_for(piece) : std::string();
    if (what.empty()) continue;
    events_.push_back({.kind = CoordinatorEvent::Kind::failed,
                       .text = "a worker was done with its piece of a step, and others wait for it at " +
                               in_quotes(what) + "; all processes run the same program"});
    changed_.notify_all();
    return;
  }
}

/// What a worker tells of its piece.
void Coordinator::take_piece(const CoordinatorRequest& request) {
  if (request.call == CoordinatorCall::ended) {
    if (request.id != steps_.id() || !steps_.is_on()) return;
    steps_.end();
    events_.push_back({.kind = CoordinatorEvent::Kind::epoch_over});
  } else if (request.call == CoordinatorCall::behind) {
    steps_.behind(request.worker, request.piece);
  } else if (request.call == CoordinatorCall::done &&
             steps_.done(request.worker, request.piece, request.values, Clock::now()) &&
             steps_.is_complete()) {
    CoordinatorEvent event{.kind = CoordinatorEvent::Kind::step_done, .batch = step_batch_};
    event.batch.piece = request.piece;
    event.of_pieces = steps_.values();
    events_.push_back(std::move(event));
  }
  if (steps_.is_on()) fail_where_a_meeting_is_missed();
  changed_.notify_all();
}

std::vector<PieceBoard::Ready> Coordinator::follow_attempt() {
  if (!options_.is_synchronous) return {};
  const bool goes_on = is_on_ && steps_.is_on();
  return board_.begin(goes_on ? steps_.id() : 0, steps_.attempt());
}

void Coordinator::send(const std::vector<PieceBoard::Ready>& ready) {
  for (const auto& [answer, brought] : ready) answer(brought);
}

void Coordinator::meet(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> bytes,
                       Answer answer) {
  std::vector<PieceBoard::Ready> ready;
  {
    const std::lock_guard lock(mutex_);
    if (!is_on_ || request.training != training_) {
      ready.push_back(
          {[answer](const PieceBoard::Brought& brought) { answer(as_answer(brought)); }, nullptr});
    } else {
      ready = follow_attempt();
      for (PieceBoard::Ready& now :
           board_.meet(call, request.piece, static_cast<uint32_t>(request.id), request.text, std::move(bytes),
                       [answer](const PieceBoard::Brought& brought) { answer(as_answer(brought)); }))
        ready.push_back(std::move(now));
      fail_where_a_meeting_is_missed();
    }
  }
  send(ready);
  answer_waiting();
}

}  // namespace nyala::detail
