// The calls of a process to a service of its own. What the asker sends is given to the service by the thread
// that starts the call, what comes back by the one that waits.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_state.h>
#include <nyala/strategies/parameter_server/parameter_bytes.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>
#include <nyala/strategies/parameter_server/served_call.h>

namespace nyala::detail {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

std::string here(const std::string& text) { return "parameter server in this process: " + text; }

/// What all calls of a connection look at.
struct LocalCalls {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_cancelled = false;
};

class LocalServedCall final : public ServedCall {
 public:
  LocalServedCall(std::shared_ptr<ParameterService> service, std::shared_ptr<LocalCalls> calls)
      : service_(std::move(service)), calls_(std::move(calls)) {}

  void send(std::string header, const SentBytes& payload) {
    ByteReader reader(payload);
    if (!begin(*service_, std::move(header), reader.left())) return;
    while (reader.left() > 0)
      if (!take(reader, std::min<uint64_t>(reader.left(), kParameterChunk))) return;
    finish();
  }
  void close() noexcept {
    end();
    std::optional<ParameterAnswer> unread;  // it may hold what belongs to the service
    const std::lock_guard lock(calls_->mutex);
    is_closed_ = true;
    unread.swap(answer_);
  }

  /// Throws where there is none until then.
  ParameterAnswer await(SteadyTime deadline, std::chrono::milliseconds timeout) {
    std::unique_lock lock(calls_->mutex);
    const auto is_over = [this] { return answer_ || refusal_ || calls_->is_cancelled; };
    if (!calls_->changed.wait_until(lock, deadline, is_over))
      throw TimeoutError(here("no answer in " + seconds_text(timeout)));
    if (calls_->is_cancelled) throw CommunicationError(here("the connection is closed"));
    if (refusal_) throw CommunicationError(here(*refusal_));
    return std::move(*answer_);
  }

 private:
  void deliver(ParameterAnswer answer) override {
    const std::lock_guard lock(calls_->mutex);
    if (is_closed_) return;
    answer_ = std::move(answer);
    calls_->changed.notify_all();
  }
  void deliver_refusal(const std::string& text) override {
    const std::lock_guard lock(calls_->mutex);
    refusal_ = text;
    calls_->changed.notify_all();
  }

  const std::shared_ptr<ParameterService> service_;
  const std::shared_ptr<LocalCalls> calls_;
  bool is_closed_ = false;
  std::optional<ParameterAnswer> answer_;
  std::optional<std::string> refusal_;
};

class LocalParameterCall final : public ParameterCall {
 public:
  LocalParameterCall(std::shared_ptr<LocalServedCall> served, std::shared_ptr<LocalCalls> calls,
                     AnswerPlace place, std::chrono::milliseconds timeout)
      : served_(std::move(served)), calls_(std::move(calls)), place_(std::move(place)), timeout_(timeout) {}
  ~LocalParameterCall() override { served_->close(); }

  std::string wait() override {
    if (std::exchange(has_waited_, true)) throw StateError(here("wait() of a call comes once"));
    ParameterAnswer answer;
    try {
      answer = served_->await(deadline_, timeout_);
      receive(answer);
    } catch (...) {
      served_->close();
      throw;
    }
    served_->close();
    return std::move(answer.header);
  }

 private:
  void receive(const ParameterAnswer& answer) {
    ByteWriter places(place_ ? place_(answer.header, answer.bytes) : ReceivedBytes{});
    if (places.left() != answer.bytes)
      throw CommunicationError(here("places for " + std::to_string(places.left()) +
                                    " bytes, the answer has " + std::to_string(answer.bytes)));
    std::vector<std::byte> chunk;
    for (uint64_t offset = 0; offset < answer.bytes; offset += chunk.size()) {
      check_goes_on();
      chunk.resize(static_cast<size_t>(std::min<uint64_t>(answer.bytes - offset, kParameterChunk)));
      try {
        answer.fill(offset, chunk);
      } catch (const std::exception& error) {
        throw CommunicationError(here(error.what()));
      }
      ByteReader reader({chunk});
      places.write(reader, chunk.size());
    }
  }
  void check_goes_on() const {
    const std::lock_guard lock(calls_->mutex);
    if (calls_->is_cancelled) throw CommunicationError(here("the connection is closed"));
    if (std::chrono::steady_clock::now() >= deadline_)
      throw TimeoutError(here("not all of the answer in " + seconds_text(timeout_)));
  }

  const std::shared_ptr<LocalServedCall> served_;
  const std::shared_ptr<LocalCalls> calls_;
  const AnswerPlace place_;
  const std::chrono::milliseconds timeout_;
  bool has_waited_ = false;
  const SteadyTime deadline_ = std::chrono::steady_clock::now() + timeout_;
};

class LocalParameterConnection final : public ParameterConnection {
 public:
  explicit LocalParameterConnection(std::shared_ptr<ParameterService> service)
      : service_(std::move(service)) {}

  std::unique_ptr<ParameterCall> start(std::string header, SentBytes payload, AnswerPlace place,
                                       std::chrono::milliseconds timeout) override {
    check_parameter_header(header);
    {
      const std::lock_guard lock(calls_->mutex);
      if (calls_->is_cancelled) throw CommunicationError(here("the connection is closed"));
    }
    const auto served = std::make_shared<LocalServedCall>(service_, calls_);
    auto call = std::make_unique<LocalParameterCall>(served, calls_, std::move(place), timeout);
    served->send(std::move(header), payload);
    return call;
  }
  void cancel() noexcept override {
    const std::lock_guard lock(calls_->mutex);
    calls_->is_cancelled = true;
    calls_->changed.notify_all();
  }

 private:
  const std::shared_ptr<ParameterService> service_;
  const std::shared_ptr<LocalCalls> calls_ = std::make_shared<LocalCalls>();
};

}  // namespace

std::unique_ptr<ParameterConnection> connect_locally(std::shared_ptr<ParameterService> service) {
  return std::make_unique<LocalParameterConnection>(std::move(service));
}

}  // namespace nyala::detail
