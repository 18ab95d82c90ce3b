#include <nyala/strategies/parameter_server/chief_alone.h>

#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala::detail {

void ChiefAlone::look(int workers) {
  constexpr std::chrono::seconds kBeforeItIsSaid{5};
  if (workers > 0) return since_.reset();
  if (!since_) since_ = Clock::now(), has_said_so_ = false;
  const auto alone_for = Clock::now() - *since_;
  const std::string seconds = std::to_string(timeout_.count() / 1000) + " s";
  if (alone_for >= timeout_)
    throw CommunicationError(who_ + ": no worker is there, and none came in " + seconds);
  if (alone_for >= kBeforeItIsSaid && !std::exchange(has_said_so_, true))
    log(LogChannel::warning, who_ + ": no worker is there; it waits " + seconds + " for one");
}

}  // namespace nyala::detail
