#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::parameter_transport_test {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

/// What stands at each offset of a payload.
inline std::byte byte_at(uint64_t offset) {
  return static_cast<std::byte>((offset * 31 + (offset >> 12)) & 0xff);
}

inline Bytes pattern(uint64_t size) {
  Bytes bytes(size);
  for (uint64_t i = 0; i < size; ++i) bytes[i] = byte_at(i);
  return bytes;
}

/// What happened in a service.
struct Told {
  std::atomic<int> begun{0}, finished{0}, cancelled{0}, alive{0}, filled{0};
  std::atomic<bool> overlapped{false};
};

/// Does what a call's header says: "echo", "late" (from another thread), "answer N" (N bytes of the pattern),
/// "never", "refuse begin|place|finish|late", "wrong places", "no fill", "fill throws", "long header",
/// "twice".
class ToldService final : public detail::ParameterService {
 public:
  ~ToldService() override { join(); }
  void join() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::shared_ptr<detail::ParameterReceiver> begin(std::string header) override {
    ++told.begun;
    if (header == "refuse begin") throw std::runtime_error("nothing begins");
    return std::make_shared<Receiver>(*this, std::move(header));
  }

  Told told;

 private:
  class Receiver final : public detail::ParameterReceiver {
   public:
    Receiver(ToldService& service, std::string header) : service_(service), header_(std::move(header)) {
      ++service_.told.alive;
    }
    ~Receiver() override { --service_.told.alive; }

    detail::ReceivedBytes place(uint64_t bytes) override {
      if (header_ == "refuse place") throw InvalidArgumentError("no place for " + std::to_string(bytes));
      if (bytes > uint64_t{1} << 32) throw InvalidArgumentError("far too many bytes");
      bytes_.resize(bytes);
      if (header_ == "wrong places") return {std::span(bytes_).first(bytes / 2)};
      const size_t half = bytes / 2;  // an empty one is a place, too
      return {std::span(bytes_).first(half), {}, std::span(bytes_).subspan(half)};
    }
    void finish(std::function<void(detail::ParameterAnswer)> answer,
                std::function<void(const std::string&)> refuse) override {
      ++service_.told.finished;
      if (cancelled_) service_.told.overlapped = true;
      if (header_ == "refuse finish") throw StateError("finished badly");
      if (header_ == "never") return keep(std::move(answer));
      if (header_ == "refuse late") return later([refuse] { refuse("refused late"); });
      if (header_ == "late") return later([this, answer] { answer(reply()); });
      answer(reply());
      if (header_ == "twice") {
        answer(reply());
        refuse("said before");
      }
    }
    void cancel() noexcept override {
      cancelled_ = true;
      ++service_.told.cancelled;
    }

   private:
    detail::ParameterAnswer reply() {
      const auto shared = std::make_shared<Bytes>(
          header_.starts_with("answer ") ? pattern(std::stoull(header_.substr(7))) : std::move(bytes_));
      detail::ParameterAnswer answer{.header = "answer to " + header_, .bytes = shared->size()};
      if (header_ == "long header") answer.header.assign(detail::kMaxParameterHeader + 1, 'x');
      if (header_ == "no fill") return {.header = "", .bytes = 1};
      answer.fill = [&told = service_.told, shared, throws = header_ == "fill throws"](
                        uint64_t offset, std::span<std::byte> chunk) {
        ++told.filled;
        if (throws && offset > 0) throw std::runtime_error("nothing to fill with");
        std::copy_n(shared->begin() + static_cast<ptrdiff_t>(offset), chunk.size(), chunk.begin());
      };
      return answer;
    }
    void keep(std::function<void(detail::ParameterAnswer)> answer) {
      const std::lock_guard lock(service_.mutex_);
      service_.kept_.push_back(std::move(answer));
    }
    template <class F>
    void later(F&& f) {
      const std::lock_guard lock(service_.mutex_);
      service_.threads_.emplace_back([f = std::forward<F>(f)] {
        std::this_thread::sleep_for(20ms);
        f();
      });
    }

    ToldService& service_;
    const std::string header_;
    Bytes bytes_;
    std::atomic<bool> cancelled_{false};
  };

 public:
  /// The answers that "never" is still owed.
  std::vector<std::function<void(detail::ParameterAnswer)>> take_kept() {
    const std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::vector<std::function<void(detail::ParameterAnswer)>> kept_;
};

/// Waits up to five seconds.
template <class Holds>
bool soon(Holds&& holds) {
  for (int i = 0; i < 500; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return holds();
}

}  // namespace nyala::parameter_transport_test
