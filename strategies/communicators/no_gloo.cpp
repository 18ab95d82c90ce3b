// Stands for Gloo in builds that do not have it.
#include <nyala/strategies/communicators/gloo_communicator.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/gloo_links.h>

namespace nyala {

namespace {

[[noreturn]] void throw_no_gloo() {
  throw NotFoundError(
      "gloo_communicator: this build has no Gloo, which ranks on several hosts talk by; install libgloo-dev "
      "(scripts/setup.sh does) and configure again");
}

}  // namespace

bool gloo_is_built() { return false; }

std::shared_ptr<Communicator> gloo_communicator(const CommunicatorOptions&,
                                                const std::shared_ptr<Rendezvous>&, std::stop_token,
                                                std::optional<std::chrono::steady_clock::time_point>) {
  throw_no_gloo();
}

std::unique_ptr<detail::Links> detail::gloo_links(int, std::vector<Socket>, std::chrono::milliseconds) {
  throw_no_gloo();
}

}  // namespace nyala
