// Functions that the chief schedules: workers ask for one after the other.
#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/coordinator.h>

namespace nyala::detail {

std::shared_ptr<FunctionOutcome> Coordinator::schedule(
    const std::string& name, const std::shared_ptr<const FunctionOutcome::Bytes>& arguments) {
  std::shared_ptr<FunctionOutcome> outcome;
  {
    const std::lock_guard lock(mutex_);
    if (is_on_) throw StateError("ClusterCoordinator: a fit() of the chief goes on; schedule() after it");
    if (functions_.is_full()) return nullptr;
    outcome = functions_.add(name, arguments);
  }
  answer_waiting();
  return outcome;
}

std::optional<CoordinatorReply> Coordinator::function_for(uint64_t worker) {
  if (ended_) return CoordinatorReply{.kind = CoordinatorReply::Kind::is_over, .text = *ended_};
  if (is_on_) {
    const std::string why = "the chief trains by fit(), and a worker serves functions";
    events_.push_back({.kind = CoordinatorEvent::Kind::failed, .text = why});
    changed_.notify_all();
    return CoordinatorReply{.kind = CoordinatorReply::Kind::failed,
                            .text = why +
                                    "; call fit() in workers, too, in place of "
                                    "ClusterCoordinator::serve()"};
  }
  const ScheduledFunction* const next = functions_.next(worker, Clock::now());
  if (!next) return std::nullopt;
  return CoordinatorReply{
      .kind = CoordinatorReply::Kind::function, .batch = {.id = next->id}, .text = next->name};
}

void Coordinator::take_outcome(const CoordinatorRequest& request, std::vector<std::byte> payload) {
  if (gone_.contains(request.worker)) return;
  if (request.call == CoordinatorCall::returned)
    functions_.returned(request.worker, request.id, std::move(payload));
  else
    functions_.threw(request.worker, request.id, std::move(payload));
  changed_.notify_all();
}

bool Coordinator::wait_for_functions(std::chrono::milliseconds time) {
  bool is_idle = false;
  {
    std::unique_lock lock(mutex_);
    is_idle = changed_.wait_for(lock, time, [this] { return functions_.is_idle(); });
    expire();
  }
  answer_waiting();
  return is_idle;
}

void Coordinator::with_functions(const std::function<void(FunctionQueue&)>& look) {
  {
    const std::lock_guard lock(mutex_);
    look(functions_);
  }
  answer_waiting();
}

}  // namespace nyala::detail
