// Questions that cannot be answered yet wait in a list; whatever changes looks through it. Answers are sent
// without the lock: whoever gets one may ask again in the same moment.
#include <nyala/strategies/parameter_server/coordinator.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/system_random.h>

namespace nyala::detail {

namespace {

/// "expected optimizer = Adam, received optimizer = SGD".
std::string first_difference(const std::string& expected, const std::string& received) {
  std::istringstream ours(expected), theirs(received);
  std::string own, other;
  do {
    own.clear(), other.clear();
    std::getline(ours, own);
    std::getline(theirs, other);
  } while (own == other && (ours || theirs));
  return "expected " + (own.empty() ? "nothing more" : own) + ", received " +
         (other.empty() ? "nothing more" : other);
}

}  // namespace

/// One question of a worker. What it asks is done when all of it has come.
class Coordinator::Receiver final : public ParameterReceiver {
 public:
  Receiver(Coordinator& coordinator, uint64_t call, CoordinatorRequest request)
      : coordinator_(coordinator), call_(call), request_(std::move(request)) {}

  ReceivedBytes place(uint64_t bytes) override {
    using Call = CoordinatorCall;
    const bool brings =
        request_.call == Call::meet || request_.call == Call::returned || request_.call == Call::threw;
    if (bytes > (brings ? kMaxBrought : 0))
      throw CommunicationError("coordinator: a question with a payload of " + std::to_string(bytes) +
                               " bytes");
    payload_.resize(bytes);
    return {std::span(payload_)};
  }
  void finish(std::function<void(ParameterAnswer)> answer,
              std::function<void(const std::string&)> refuse) override {
    try {
      coordinator_.ask(call_, request_, std::move(payload_), answer);
    } catch (const std::exception& error) {
      refuse(error.what());
    }
  }
  void cancel() noexcept override { coordinator_.forget(call_); }

 private:
  Coordinator& coordinator_;
  uint64_t call_;
  CoordinatorRequest request_;
  std::vector<std::byte> payload_;
};

Coordinator::Coordinator(const CoordinatorOptions& options) : options_(options), job_(system_random()) {}

Coordinator::~Coordinator() { end("the chief has ended"); }

std::shared_ptr<ParameterReceiver> Coordinator::begin(std::string header) {
  CoordinatorRequest request = decode_coordinator_request(header);
  const std::lock_guard lock(mutex_);
  return std::make_shared<Receiver>(*this, ++next_call_, std::move(request));
}

void Coordinator::send(const Ready& ready) {
  for (const auto& [answer, reply, payload] : ready) {
    ParameterAnswer out{.header = encode(reply)};
    if (payload) {
      out.bytes = payload->size();
      out.fill = [payload](uint64_t offset, std::span<std::byte> chunk) {
        std::memcpy(chunk.data(), payload->data() + offset, chunk.size());
      };
    }
    answer(std::move(out));
  }
}

void Coordinator::ask(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> payload,
                      const Answer& answer) {
  if (request.call == CoordinatorCall::meet)
    return request.training == kOwnLoop ? meet_in_loop(call, request, std::move(payload), answer)
                                        : meet(call, request, std::move(payload), answer);
  if (request.call == CoordinatorCall::fail && request.training == kOwnLoop) fail_loop(request.text);
  {
    const std::lock_guard lock(mutex_);
    if (request.call == CoordinatorCall::watch) {
      watches_[call] = request.worker;
      ++came_;
      waiting_[call] = {request, answer};
      changed_.notify_all();
      return;
    }
    if (request.call == CoordinatorCall::returned || request.call == CoordinatorCall::threw)
      take_outcome(request, std::move(payload));
    else
      take(request);
    waiting_[call] = {request, answer};
  }
  answer_waiting();
}

void Coordinator::forget(uint64_t call) {
  std::vector<LoopMeetings::Ready> told;
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(call);
    board_.forget(call);
    loop_.forget(call);
    const auto watch = watches_.find(call);
    if (watch == watches_.end()) return;
    gone_.insert(watch->second);
    in_training_.erase(watch->second);
    told = loop_.lost(watch->second);
    const bool had_piece = steps_.leave(watch->second), had_function = functions_.lost(watch->second);
    if (had_function || (is_on_ && (had_piece || given_.contains(watch->second)))) ++lost_;
    dispenser_.lost(watch->second);
    given_.erase(watch->second);
  }
  send(told);
  answer_waiting();
  const std::lock_guard lock(mutex_);  // last: who waits until all have left ends this object
  watches_.erase(call);
  changed_.notify_all();
}

/// What a worker tells.
void Coordinator::take(const CoordinatorRequest& request) {
  if (request.call == CoordinatorCall::join || request.call == CoordinatorCall::left) {
    in_training_.erase(request.worker);
    if (request.call == CoordinatorCall::join && !gone_.contains(request.worker))
      in_training_[request.worker] = request.training;
    changed_.notify_all();
  }
  if (!is_on_ || request.training != training_) return;
  if (request.call == CoordinatorCall::fail) {
    events_.push_back({.kind = CoordinatorEvent::Kind::failed, .text = request.text});
  } else if (options_.is_synchronous) {
    take_piece(request);
  } else if (request.call == CoordinatorCall::done || request.call == CoordinatorCall::ended) {
    const auto given = given_.find(request.worker);
    if (given == given_.end() || given->second.batch.id != request.id) return;
    const DispensedBatch batch = given->second.batch;
    const uint64_t before = given->second.effects;  // what others did since may have come behind its exchange
    given_.erase(given);
    if (request.call == CoordinatorCall::done) {
      ++effects_;
      seen_[request.worker] = {training_, batch.epoch, before + 1};
    }
    if (request.call == CoordinatorCall::ended)
      dispenser_.ended(request.worker, request.id);
    else if (dispenser_.done(request.worker, request.id))
      events_.push_back(
          {.kind = CoordinatorEvent::Kind::batch_done, .batch = batch, .values = request.values});
  }
  changed_.notify_all();
}

std::optional<CoordinatorReply> Coordinator::reply_to(const CoordinatorRequest& request) {
  using Call = CoordinatorCall;
  if (request.call == Call::watch) return std::nullopt;
  if (gone_.contains(request.worker))  // its calls end one after the other
    return CoordinatorReply{.kind = CoordinatorReply::Kind::failed, .text = "the chief has lost this worker"};
  if (request.call == Call::hello)
    return CoordinatorReply{.batch = {.id = job_},
                            .text = std::to_string(options_.seed),
                            .sizes = {options_.is_synchronous ? uint64_t{1} : 0}};
  if (request.call == Call::function) return function_for(request.worker);
  if (request.call == Call::file) {
    const auto file = files_.find(request.text);
    const bool is_written = file != files_.end() && file->second >= request.id;
    if (is_written || is_on_ || ended_ || !functions_.is_idle()) return CoordinatorReply{};
    return std::nullopt;
  }
  if (request.call != Call::join && request.call != Call::next) return CoordinatorReply{};
  if (const auto over = results_.find(request.training); over != results_.end()) return over->second;
  if (ended_) return CoordinatorReply{.kind = CoordinatorReply::Kind::failed, .text = *ended_};
  if (!functions_.is_idle())
    return CoordinatorReply{.kind = CoordinatorReply::Kind::failed,
                            .text =
                                "the chief schedules functions, and this worker trains by fit(); call "
                                "ClusterCoordinator::serve() in workers"};
  if (!is_on_ || request.training != training_) return std::nullopt;
  if (request.call == Call::join) return welcome(request);
  return options_.is_synchronous ? piece_for(request.worker) : batch_for(request.worker);
}

CoordinatorReply Coordinator::welcome(const CoordinatorRequest& request) {
  if (options_.is_synchronous) {
    if (replicas_ == 0) replicas_ = request.id;
    if (replicas_ != request.id)
      return {.kind = CoordinatorReply::Kind::failed,
              .text = "this worker has " + std::to_string(request.id) + " devices, another one has " +
                      std::to_string(replicas_) +
                      "; workers of a synchronous training have the same number of them"};
    steps_.join(request.worker);
  }
  if (request.text == facts_) return {.text = greeting_};
  const std::string why = " trains something else than the chief: " + first_difference(facts_, request.text) +
                          "; all processes run the same program";
  events_.push_back({.kind = CoordinatorEvent::Kind::failed, .text = "a worker" + why});
  changed_.notify_all();
  return {.kind = CoordinatorReply::Kind::failed, .text = "this worker" + why};
}

std::optional<CoordinatorReply> Coordinator::batch_for(uint64_t worker) {
  if (!epoch_is_on_ || would_make_stale() || (takes_turns() && chief_has_news())) return std::nullopt;
  const DispenserAnswer next = dispenser_.next(worker, Clock::now());
  if (next.kind != DispenserAnswer::Kind::range) return std::nullopt;
  const DispensedBatch batch{.id = next.range.id,
                             .epoch = next.range.epoch,
                             .batch = next.range.batch,
                             .step = first_step_ + next.range.batch,
                             .pull_first = has_old_values(worker, next.range.epoch)};
  given_[worker] = {batch, effects_, Clock::now()};
  return CoordinatorReply{.kind = CoordinatorReply::Kind::batch, .batch = batch};
}

/// One more that is out may take effect before any of the others does.
bool Coordinator::would_make_stale() const {
  if (options_.staleness < 0) return false;
  const auto others = static_cast<uint64_t>(
      std::ranges::count_if(given_, [](const auto& entry) { return !entry.second.is_late; }));
  const auto limit = static_cast<uint64_t>(options_.staleness);
  if (others > limit) return true;
  return std::ranges::any_of(given_, [&](const auto& entry) {
    return !entry.second.is_late && effects_ - entry.second.effects + others > limit;
  });
}

/// What it makes of the batch before this one holds for this one.
bool Coordinator::chief_has_news() const { return chief_looks_at_batch_ || !events_.empty(); }

/// A worker gets the servers' values with each exchange. Between epochs callbacks may change them; with a
/// bound they must be those of now.
bool Coordinator::has_old_values(uint64_t worker, int64_t epoch) const {
  const auto seen = seen_.find(worker);
  if (seen == seen_.end() || seen->second.training != training_ || seen->second.epoch != epoch) return true;
  return options_.staleness >= 0 && seen->second.effects != effects_;
}

/// What a silent worker has is nothing that others wait for any more; it counts where it comes first all the
/// same.
void Coordinator::expire() {
  const Clock::time_point now = Clock::now();
  dispenser_.expire(now, options_.lease);
  steps_.expire(now, options_.lease);
  functions_.expire(now, options_.lease);
  for (auto& [worker, given] : given_) given.is_late = given.is_late || now - given.since >= options_.lease;
}

void Coordinator::reply_to_waiting(Ready& ready) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const std::optional<CoordinatorReply> reply = reply_to(it->second.request);
    if (reply) {
      Told told{std::move(it->second.answer), *reply};
      if (reply->kind == CoordinatorReply::Kind::function)
        told.payload = functions_.arguments_of(it->second.request.worker);
      ready.push_back(std::move(told));
    }
    it = reply ? waiting_.erase(it) : std::next(it);
  }
}

// Whoever waits at the board for a piece that nobody computes begins again, and so do those without work.
void Coordinator::answer_waiting() {
  Ready ready;
  std::vector<PieceBoard::Ready> told;
  {
    const std::lock_guard lock(mutex_);
    reply_to_waiting(ready);
    if (board_.has_waiting() && steps_.has_orphans()) {
      steps_.begin_again();
      ++steps_again_;
      reply_to_waiting(ready);
    }
    told = follow_attempt();
    if (epoch_is_on_ && dispenser_.is_epoch_over()) {
      epoch_is_on_ = false;
      events_.push_back({.kind = CoordinatorEvent::Kind::epoch_over});
      changed_.notify_all();
    }
  }
  send(ready);
  send(told);
}

void Coordinator::begin_training(uint64_t training, const std::string& facts, const std::string& greeting) {
  {
    const std::lock_guard lock(mutex_);
    training_ = training;
    facts_ = facts;
    greeting_ = greeting;
    is_on_ = true;
    events_.clear();
    replicas_ = 0;
    steps_.forget_workers();
  }
  answer_waiting();
}

void Coordinator::begin_epoch(int64_t epoch, int64_t batches, int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    first_step_ = step;
    dispenser_.begin_epoch(epoch, batches);
    epoch_is_on_ = true;
  }
  answer_waiting();
}

void Coordinator::stop_epoch() {
  {
    const std::lock_guard lock(mutex_);
    dispenser_.stop();
  }
  answer_waiting();
}

CoordinatorEvent Coordinator::wait(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kLook{500};
  const auto deadline = Clock::now() + time;
  bool held_one_back = false;
  {
    const std::lock_guard lock(mutex_);
    held_one_back = std::exchange(chief_looks_at_batch_, false) && takes_turns();
  }
  if (held_one_back) answer_waiting();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, std::min(Clock::now() + kLook, deadline),
                          [this] { return !events_.empty(); });
      if (!events_.empty()) {
        CoordinatorEvent event = std::move(events_.front());
        events_.pop_front();
        chief_looks_at_batch_ = event.kind == CoordinatorEvent::Kind::batch_done;
        return event;
      }
      if (Clock::now() >= deadline) return {};
      expire();
    }
    answer_waiting();
  }
}

void Coordinator::end_training(const std::string& result) {
  {
    const std::lock_guard lock(mutex_);
    results_[training_] = {.kind = CoordinatorReply::Kind::is_over, .text = result};
    is_on_ = epoch_is_on_ = false;
    given_.clear();
    steps_.end();
  }
  answer_waiting();
}

void Coordinator::fail_training(uint64_t training, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    results_[training] = {.kind = CoordinatorReply::Kind::failed, .text = why};
    is_on_ = epoch_is_on_ = false;
    given_.clear();
    steps_.end();
  }
  answer_waiting();
}

void Coordinator::wrote_file(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_on_) ++files_[path];  // a callback's is none that workers write
  }
  answer_waiting();
}

void Coordinator::end(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = why;
    is_on_ = epoch_is_on_ = false;
    steps_.end();
  }
  fail_loop(why);
  answer_waiting();
}

int64_t Coordinator::again_since(uint64_t mark) {
  int64_t again = 0;
  {
    const std::lock_guard lock(mutex_);
    again = dispenser_.again_since(mark < kFunctionMarks ? mark : 0).again;  // before all of this epoch
    again_ += again;
    given_.clear();
    if (again > 0) {  // an epoch that was over goes on
      epoch_is_on_ = true;
      std::erase_if(events_, [](const CoordinatorEvent& event) {
        return event.kind == CoordinatorEvent::Kind::epoch_over;
      });
    }
  }
  answer_waiting();
  return again;
}

int Coordinator::num_workers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(watches_.size());
}

void Coordinator::wait_until_left() {
  std::unique_lock lock(mutex_);
  const auto is_over = [this](const auto& entry) { return results_.contains(entry.second); };
  changed_.wait_for(lock, options_.lease, [&] { return std::ranges::none_of(in_training_, is_over); });
  if (const size_t late = std::erase_if(in_training_, is_over); late > 0)
    log(LogChannel::warning, "ParameterServerStrategy: " + std::to_string(late) +
                                 " workers have not come by the end of fit in a lease; what they read of "
                                 "its variables may be newer");
}

bool Coordinator::wait_until_workers_left(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return watches_.empty(); });
}

std::string Coordinator::describe() const {
  const std::lock_guard lock(mutex_);
  return std::to_string(came_) + " workers came, " + std::to_string(watches_.size()) + " are there; " +
         std::to_string(lost_) + " were lost over a batch or a function, " + std::to_string(again_) +
         " batches were done again for a server" +
         (options_.is_synchronous
              ? ", " + std::to_string(steps_again_) + " steps were begun again for a worker"
              : "");
}

}  // namespace nyala::detail
