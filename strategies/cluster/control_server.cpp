#include <nyala/strategies/cluster/control_server.h>

namespace nyala::detail {

ControlServer::ControlServer(const HostPort& address, const ControlSecurity& security, int processes,
                             std::chrono::milliseconds heartbeat)
    : state_({.size = processes, .token = security.token, .heartbeat = heartbeat}), address_(address) {
  check_control_security(address, security);
  listener_ = listen_control(address, security, state_);
  address_.port = listener_->port();
  clock_ = std::thread([this] {
    while (!ends_) {
      state_.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
}

ControlServer::~ControlServer() {
  ends_ = true;
  clock_.join();
  listener_.reset();
}

}  // namespace nyala::detail
