// Stands for gRPC in builds that do not have it.
#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

namespace {

[[noreturn]] void throw_no_grpc() {
  throw NotFoundError(
      "control plane: this build has no gRPC, by which processes of a cluster meet; install libgrpc++-dev "
      "(scripts/setup.sh does) and configure again");
}

}  // namespace

bool grpc_is_built() { return false; }

std::unique_ptr<ControlConnection> connect_control(const HostPort&, const ControlSecurity&) {
  throw_no_grpc();
}

std::unique_ptr<ControlListener> listen_control(const HostPort&, const ControlSecurity&, ControlState&) {
  throw_no_grpc();
}

}  // namespace nyala::detail
