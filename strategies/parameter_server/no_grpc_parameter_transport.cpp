// Stands for gRPC in builds that do not have it.
#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

namespace {

[[noreturn]] void throw_no_grpc_for_parameters() {
  throw NotFoundError(
      "parameter server: this build has no gRPC, by which tensors travel to it; install libgrpc++-dev "
      "(scripts/setup.sh does) and configure again");
}

}  // namespace

std::unique_ptr<ParameterConnection> connect_parameters(const HostPort&, const ControlSecurity&,
                                                        const std::string&) {
  throw_no_grpc_for_parameters();
}

std::unique_ptr<ParameterListener> listen_parameters(const HostPort&, const ControlSecurity&,
                                                     ParameterService&) {
  throw_no_grpc_for_parameters();
}

}  // namespace nyala::detail
