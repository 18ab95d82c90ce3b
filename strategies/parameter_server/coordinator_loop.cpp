// Loops of the program's own under a synchronous strategy: the chief takes part by itself, workers by
// questions.
#include <algorithm>
#include <future>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/strategies/parameter_server/coordinator.h>
#include <nyala/strategies/parameter_server/brought_answer.h>

namespace nyala::detail {

namespace {

constexpr const char* kWhoLoops = "a loop of the program's own: ";
constexpr std::chrono::milliseconds kBeforeItIsSaid{5000};

}  // namespace

void Coordinator::send(const std::vector<LoopMeetings::Ready>& ready) {
  for (const auto& [answer, brought, why] : ready) answer(brought, why);
}

void Coordinator::meet_in_loop(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> bytes,
                               const Answer& answer) {
  const auto reply = [answer](const LoopMeetings::Brought& brought, const std::string& why) {
    answer(brought ? as_answer(brought)
                   : ParameterAnswer{.header = encode(CoordinatorReply{.kind = CoordinatorReply::Kind::failed,
                                                                       .text = why})});
  };
  std::vector<LoopMeetings::Ready> ready;
  {
    const std::lock_guard lock(mutex_);
    ready =
        loop_.meet({call, request.worker, request.piece}, request.id, request.text, std::move(bytes), reply);
  }
  send(ready);
}

std::vector<std::vector<std::byte>> Coordinator::meet_in_loop(const StepPiece& place, uint64_t number,
                                                              const std::string& what,
                                                              std::vector<std::byte> own,
                                                              std::chrono::milliseconds timeout) {
  std::promise<std::pair<LoopMeetings::Brought, std::string>> promise;
  std::future<std::pair<LoopMeetings::Brought, std::string>> future = promise.get_future();
  std::vector<LoopMeetings::Ready> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = loop_.meet({++next_call_, 0, place}, number, what, std::move(own),
                       [&promise](const LoopMeetings::Brought& brought, const std::string& why) {
                         promise.set_value({brought, why});
                       });
  }
  send(ready);
  const auto missing_now = [this] {
    const std::lock_guard lock(mutex_);
    return loop_.missing();
  };
  const auto first = std::min(timeout, kBeforeItIsSaid);
  if (future.wait_for(first) == std::future_status::timeout && first < timeout)
    log(LogChannel::warning,
        std::string(kWhoLoops) + ("the chief waits for " + missing_now()) + " at " + what);
  if (future.wait_for(timeout - first) == std::future_status::timeout) {
    const std::string missing = missing_now();
    fail_loop(what + ": waited " + std::to_string(timeout.count() / 1000) + " s for " + missing);
  }
  const auto [brought, why] = future.get();
  if (!brought) throw CommunicationError(kWhoLoops + why);
  return *brought;
}

void Coordinator::fail_loop(const std::string& why) {
  std::vector<LoopMeetings::Ready> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = loop_.fail(why);
  }
  send(ready);
}

}  // namespace nyala::detail
