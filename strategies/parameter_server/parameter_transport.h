#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

/// What goes one way in a call: a header of a few bytes, and the bytes of tensors, which travel in chunks and
/// are never copied as a whole. Neither side believes the other's sizes.
using SentBytes = std::vector<std::span<const std::byte>>;
using ReceivedBytes = std::vector<std::span<std::byte>>;

/// The most that a header may have, and a chunk of a payload.
inline constexpr size_t kMaxParameterHeader = 4 << 20, kParameterChunk = 1 << 20;

/// A call that is on its way.
class ParameterCall {
 public:
  /// Ends it where nobody has waited for it.
  virtual ~ParameterCall() = default;
  /// The answer's header, when all of its payload has come. Throws TimeoutError where that takes longer than
  /// the call may, PeerLostError where the connection broke or nobody listens, CommunicationError else (what
  /// the service threw, too, as text); all name the address.
  virtual std::string wait() = 0;
};

/// Called once, when the answer's header is there: where its payload of `bytes` bytes goes; sizes add up to
/// that. What it throws is what wait() throws.
using AnswerPlace = std::function<ReceivedBytes(const std::string& header, uint64_t bytes)>;

/// A way to a server. Functions are thread-safe; several calls may be on their way.
class ParameterConnection {
 public:
  virtual ~ParameterConnection() = default;
  /// `payload` stays alive until wait() has returned. Waits `timeout` for the server to be there, too.
  virtual std::unique_ptr<ParameterCall> start(std::string header, SentBytes payload, AnswerPlace place,
                                               std::chrono::milliseconds timeout) = 0;
  /// Calls that wait throw soon, and later ones do.
  virtual void cancel() noexcept = 0;
};

/// What a service says to a call.
struct ParameterAnswer {
  std::string header;
  uint64_t bytes = 0;
  /// Fills a chunk of the payload; called in order of offsets, until all is filled or the asker is gone.
  std::function<void(uint64_t offset, std::span<std::byte> chunk)> fill = {};
};

/// One call at the server. Destroyed without finish() where it broke off, or after it. Its functions never
/// overlap, and cancel() is the last. They, `fill` and AnswerPlace run on the transport's few threads: they
/// may compute, and wait neither for another call nor for long.
class ParameterReceiver {
 public:
  virtual ~ParameterReceiver() = default;
  /// Where the payload of `bytes` bytes goes; sizes add up to that. What it throws refuses the call. The
  /// places stay valid as long as this object lives.
  virtual ReceivedBytes place(uint64_t bytes) = 0;
  /// Everything has come. `answer` is called once, from any thread, now or later; or `refuse` with a text.
  /// What finish() throws refuses, too.
  virtual void finish(std::function<void(ParameterAnswer)> answer,
                      std::function<void(const std::string&)> refuse) = 0;
  /// The asker is gone or waits no longer: no answer is needed any more. May come from any thread.
  virtual void cancel() noexcept {}
};

/// What a server does with calls. Thread-safe.
class ParameterService {
 public:
  virtual ~ParameterService() = default;
  /// A call with that header begins. What it throws refuses the call.
  virtual std::shared_ptr<ParameterReceiver> begin(std::string header) = 0;
};

/// Carries calls to a ParameterService. Ends with the object: calls that wait for answers are cancelled.
class ParameterListener {
 public:
  virtual ~ParameterListener() = default;
  virtual int port() const = 0;
};

/// Does not wait for a connection: calls do. Throws what connect_control() does, NotFoundError in a build
/// without gRPC, saying what to install. `who` listens there, for messages.
std::unique_ptr<ParameterConnection> connect_parameters(const HostPort& address,
                                                        const ControlSecurity& security,
                                                        const std::string& who = "parameter server");

/// Listens on that address alone, on a free port where it is 0. Callers without the token are refused. Throws
/// what listen_control() does.
std::unique_ptr<ParameterListener> listen_parameters(const HostPort& address, const ControlSecurity& security,
                                                     ParameterService& service);

/// A way to a service in the same process, for tests: the same rules without gRPC.
std::unique_ptr<ParameterConnection> connect_locally(std::shared_ptr<ParameterService> service);

}  // namespace nyala::detail
