#pragma once

#include <memory>
#include <string>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala {

/// A server that can be lost and started again: null while it is not there.
struct FlakyServer {
  std::shared_ptr<detail::ParameterService> service;
  int answers_lost = 0;  ///< so many of the next calls are carried out, and their answers are lost
};

/// A way to it that notices as a way over a network does.
class FlakyConnection final : public detail::ParameterConnection {
 public:
  explicit FlakyConnection(std::shared_ptr<FlakyServer> server) : server_(std::move(server)) {}

  std::unique_ptr<detail::ParameterCall> start(std::string header, detail::SentBytes payload,
                                               detail::AnswerPlace place,
                                               std::chrono::milliseconds timeout) override {
    if (!server_->service) return std::make_unique<Lost>();
    auto call = detail::connect_locally(server_->service)
                    ->start(std::move(header), std::move(payload), std::move(place), timeout);
    if (server_->answers_lost == 0) return call;
    --server_->answers_lost;
    call->wait();
    return std::make_unique<Lost>();
  }
  void cancel() noexcept override {}

 private:
  struct Lost final : detail::ParameterCall {
    std::string wait() override { throw PeerLostError("the server is gone"); }
  };

  std::shared_ptr<FlakyServer> server_;
};

}  // namespace nyala
