#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <nyala/strategies/parameter_server/coordinator_message.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

/// A whole number in a text of the coordinator. Throws CommunicationError for another text.
uint64_t whole_number_of(const std::string& text);

/// A worker's end of the Coordinator. One thread at a time. A call stays open as long as both live: by it the
/// chief learns of the worker's end, and what waits for a chief that is gone throws PeerLostError at once.
class CoordinatorClient {
 public:
  /// Waits `timeout` for the chief to be there.
  CoordinatorClient(std::unique_ptr<ParameterConnection> chief, std::chrono::milliseconds timeout);
  ~CoordinatorClient();

  /// Called once, by another thread or this one, when the chief is gone or this object is destroyed.
  void when_lost(std::function<void()> call);
  uint64_t job() const { return job_; }
  /// That of the chief's random numbers.
  uint64_t seed() const { return seed_; }
  bool is_synchronous() const { return is_synchronous_; }
  /// Waits until that training begins, or tells that it is over. Throws CommunicationError where the chief is
  /// gone or failed, or the programs differ.
  CoordinatorReply join(uint64_t training, const std::string& facts, int replicas = 1);
  /// A batch, or that the training is over.
  CoordinatorReply next(uint64_t training);
  /// What all pieces of the step bring to its meeting of that number, in their order; nothing where the step
  /// is over or was begun again.
  std::optional<std::vector<std::vector<std::byte>>> meet(uint64_t training, const StepPiece& piece,
                                                          uint64_t number, const std::string& what,
                                                          std::span<const std::byte> bytes);
  void done(uint64_t training, const DispensedBatch& batch, const std::vector<double>& values);
  void ended(uint64_t training, uint64_t id);
  /// The worker has what training ended with.
  void left(uint64_t training) noexcept;
  void behind(uint64_t training, const StepPiece& piece);
  struct Function {
    uint64_t id = 0;
    std::string name;
    std::vector<std::byte> arguments;
  };
  /// Waits for a scheduled function; none where the chief has ended.
  std::optional<Function> next_function();
  void returned(uint64_t function, std::span<const std::byte> bytes);
  void threw(uint64_t function, std::span<const std::byte> error);
  /// Waits until the chief has written that file for the `times`-th time, or goes on without it.
  void await_file(const std::string& path, uint64_t times);
  /// The error of the program ends the training everywhere.
  void fail(uint64_t training, const std::string& why) noexcept;

 private:
  CoordinatorReply first_answer();
  CoordinatorReply ask(CoordinatorRequest request, const SentBytes& sent = {},
                       std::vector<std::byte>* received = nullptr);
  void watch();

  std::unique_ptr<ParameterConnection> chief_;
  std::chrono::milliseconds timeout_;
  uint64_t worker_, job_ = 0, seed_ = 0;
  bool is_synchronous_ = false;
  std::unique_ptr<ParameterCall> watch_;
  std::mutex mutex_;
  std::string lost_;  // why the chief is; "" as long as it is there
  std::function<void()> when_lost_;
  std::thread watcher_;
};

}  // namespace nyala::detail
