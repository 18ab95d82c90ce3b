#include <nyala/strategies/parameter_server/served_call.h>

#include <new>
#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

template <class Work>
bool ServedCall::run(Work&& work) {
  if (!enter()) return false;
  try {
    work();
  } catch (const std::exception& error) {
    refuse(error.what());
  } catch (...) {
    refuse("the service threw what is no std::exception");
  }
  leave();
  const std::lock_guard lock(mutex_);
  return !has_ended_ && !has_spoken_;
}

bool ServedCall::begin(ParameterService& service, std::string header, uint64_t bytes) {
  return run([&] {
    receiver_ = service.begin(std::move(header));
    if (!receiver_) throw InternalError("a parameter service gave no receiver");
    places_ = ByteWriter(receiver_->place(bytes));
    if (places_.left() != bytes)
      throw InternalError("a receiver gave places for " + std::to_string(places_.left()) +
                          " bytes, the payload has " + std::to_string(bytes));
  });
}

bool ServedCall::take(ByteReader& from, uint64_t count) {
  return run([&] { places_.write(from, count); });
}

void ServedCall::finish() {
  run([&] {
    receiver_->finish(
        [self = shared_from_this()](ParameterAnswer answer) { self->answer(std::move(answer)); },
        [self = shared_from_this()](const std::string& text) { self->refuse(text); });
  });
}

void ServedCall::answer(ParameterAnswer answer) {
  if (answer.header.size() > kMaxParameterHeader)
    return refuse("the service's answer has a header of " + std::to_string(answer.header.size()) +
                  " bytes, at most " + std::to_string(kMaxParameterHeader));
  if (answer.bytes > 0 && !answer.fill)
    return refuse("the service's answer has bytes and nothing fills them");
  if (speak()) deliver(std::move(answer));
}

void ServedCall::refuse(const std::string& text) noexcept {
  if (!speak()) return;
  try {
    deliver_refusal(text);
  } catch (const std::bad_alloc&) {  // the asker waits until its time is over
  }
}

bool ServedCall::speak() noexcept {
  const std::lock_guard lock(mutex_);
  return !has_ended_ && !std::exchange(has_spoken_, true);
}

void ServedCall::end() noexcept {
  std::shared_ptr<ParameterReceiver> receiver;
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_ended_, true) || is_busy_) return;
    receiver = std::move(receiver_);
    is_cancelled = !has_spoken_;
  }
  let_go(std::move(receiver), is_cancelled);
}

bool ServedCall::enter() {
  const std::lock_guard lock(mutex_);
  return !has_ended_ && !has_spoken_ && (is_busy_ = true);
}

void ServedCall::leave() noexcept {
  std::shared_ptr<ParameterReceiver> receiver;
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    is_busy_ = false;
    if (!has_ended_) return;
    receiver = std::move(receiver_);
    is_cancelled = !has_spoken_;
  }
  let_go(std::move(receiver), is_cancelled);
}

void ServedCall::let_go(std::shared_ptr<ParameterReceiver> receiver, bool is_cancelled) noexcept {
  if (receiver && is_cancelled) receiver->cancel();
}

}  // namespace nyala::detail
