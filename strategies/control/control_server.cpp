#include <nyala/strategies/control/control_server.h>

namespace nyala::detail {

namespace {

ControlStateOptions with_token(ControlStateOptions state, const ControlSecurity& security) {
  state.token = security.token;
  return state;
}

}  // namespace

ControlServer::ControlServer(const HostPort& address, const ControlSecurity& security,
                             ControlStateOptions state)
    : state_(with_token(std::move(state), security)), address_(address) {
  check_control_security(address, security);
  listener_ = listen_control(address, security, state_);
  address_.port = listener_->port();
  clock_ = std::thread([this] { run_clock(); });
}

// A process that was stopped, with its machine or by Ctrl-Z, has heard nobody meanwhile.
void ControlServer::run_clock() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (Clock::time_point last = Clock::now(); !ends_;) {
    const Clock::time_point now = Clock::now();
    if (now - last > 20 * kPause) state_.excuse(now - last);
    last = now;
    state_.tick(now);
    std::this_thread::sleep_for(kPause);
  }
}

void ControlServer::wait_until_left(std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (state_.is_needed() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void ControlServer::wait_until_all_are_refused(std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (state_.is_refusing() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

ControlServer::~ControlServer() {
  ends_ = true;
  clock_.join();
  listener_.reset();
}

}  // namespace nyala::detail
