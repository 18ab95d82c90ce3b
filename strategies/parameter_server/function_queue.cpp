#include <nyala/strategies/parameter_server/function_queue.h>

#include <algorithm>
#include <utility>

namespace nyala::detail {

bool FunctionOutcome::settle(State state) {
  if (state_ != State::pending) return false;
  state_ = state;
  changed_.notify_all();
  return true;
}

void FunctionOutcome::returned(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  if (settle(State::returned)) bytes_ = std::move(bytes);
}

void FunctionOutcome::threw(Bytes error) {
  const std::lock_guard lock(mutex_);
  if (settle(State::threw)) bytes_ = std::move(error);
}

void FunctionOutcome::cancelled(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (settle(State::cancelled)) text_ = text;
}

FunctionOutcome::State FunctionOutcome::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool FunctionOutcome::wait(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return state_ != State::pending; });
}

std::shared_ptr<FunctionOutcome> FunctionQueue::add(std::string name,
                                                    std::shared_ptr<const Bytes> arguments) {
  waiting_.push_back({.id = ++next_id_,
                      .name = std::move(name),
                      .arguments = std::move(arguments),
                      .outcome = std::make_shared<FunctionOutcome>()});
  return waiting_.back().outcome;
}

// A worker that asks has nothing: what it had when it did not say so is given back.
const ScheduledFunction* FunctionQueue::next(uint64_t worker, TimePoint now) {
  lost(worker);
  if (waiting_.empty()) return nullptr;
  Running& given = running_[worker] = {.function = std::move(waiting_.front()), .since = now};
  waiting_.pop_front();
  return &given.function;
}

bool FunctionQueue::is_idle() const {
  return waiting_.empty() &&
         std::ranges::all_of(running_, [](const auto& entry) { return entry.second.is_late; });
}

/// In the order of ids, so before all that nobody has had yet; once.
void FunctionQueue::put_back(ScheduledFunction function, bool is_again) {
  function.is_again |= is_again;
  const auto place = std::ranges::lower_bound(waiting_, function.id, {}, &ScheduledFunction::id);
  if (place != waiting_.end() && place->id == function.id)
    place->is_again |= function.is_again;
  else
    waiting_.insert(place, std::move(function));
}

/// What another one was to do for it need not be done any more, unless a server needs it.
std::optional<ScheduledFunction> FunctionQueue::take(uint64_t worker, uint64_t id) {
  const auto found = running_.find(worker);
  if (found == running_.end() || found->second.function.id != id) return std::nullopt;
  ScheduledFunction function = std::move(found->second.function);
  running_.erase(found);
  const auto again = std::ranges::find(waiting_, id, &ScheduledFunction::id);
  if (again != waiting_.end() && !again->is_again) waiting_.erase(again);
  return function;
}

void FunctionQueue::returned(uint64_t worker, uint64_t id, Bytes bytes) {
  std::optional<ScheduledFunction> function = take(worker, id);
  if (!function) return;
  function->outcome->returned(std::move(bytes));
  function->is_again = false;
  ++returned_;
  if (keeps_) kept_.push_back({returned_, std::move(*function)});
}

void FunctionQueue::threw(uint64_t worker, uint64_t id, Bytes error) {
  const std::optional<ScheduledFunction> function = take(worker, id);
  if (!function || !function->is_needed()) return;
  function->outcome->threw(error);
  cancel_waiting("function '" + function->name + "', which was scheduled before it, threw");
  if (!error_) error_ = std::move(error);
}

void FunctionQueue::cancel_waiting(const std::string& why) {
  for (const ScheduledFunction& function : std::exchange(waiting_, {})) function.outcome->cancelled(why);
}

bool FunctionQueue::lost(uint64_t worker) {
  const auto found = running_.find(worker);
  if (found == running_.end()) return false;
  const Running running = std::move(found->second);
  running_.erase(found);
  if (!running.is_late && running.function.is_needed()) put_back(running.function);
  return true;
}

void FunctionQueue::expire(TimePoint now, std::chrono::steady_clock::duration lease) {
  for (auto& [worker, running] : running_) {
    if (running.is_late || now - running.since < lease) continue;
    running.is_late = true;
    if (running.function.is_needed()) put_back(running.function);
  }
}

std::optional<FunctionQueue::Bytes> FunctionQueue::take_error() {
  return std::exchange(error_, std::nullopt);
}

void FunctionQueue::forget_until(uint64_t mark) {
  while (!kept_.empty() && kept_.front().mark <= mark) kept_.pop_front();
}

int64_t FunctionQueue::again_since(uint64_t mark) {
  int64_t again = 0;
  for (auto& [worker, running] : running_)
    if (!std::exchange(running.is_late, true)) put_back(running.function, true), ++again;
  for (; !kept_.empty() && kept_.back().mark > mark; kept_.pop_back(), ++again)
    put_back(std::move(kept_.back().function), true);
  return again;
}

}  // namespace nyala::detail
