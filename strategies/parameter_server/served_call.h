#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <nyala/strategies/parameter_server/parameter_bytes.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

/// One call as the server's side of a transport keeps it: what its receiver hears, in which order. Its
/// functions never overlap for one receiver: where the call ends while one of them runs, cancel() comes after
/// it. What a service throws refuses the call.
class ServedCall : public std::enable_shared_from_this<ServedCall> {
 public:
  virtual ~ServedCall() = default;

 protected:
  /// False where the call is refused or has ended, as of all that follow.
  bool begin(ParameterService& service, std::string header, uint64_t bytes);
  /// The next `count` bytes of the payload; at most bytes_left().
  bool take(ByteReader& from, uint64_t count);
  uint64_t bytes_left() const { return places_.left(); }
  /// All of the payload has come.
  void finish();
  /// By the transport itself: the call is not what it should be.
  void refuse(const std::string& text) noexcept;
  /// The call is over: answered, or the asker is gone. Lets go of the receiver. From any thread.
  void end() noexcept;

  /// One of the two is called at most once, from any thread; maybe while end() runs.
  virtual void deliver(ParameterAnswer answer) = 0;
  virtual void deliver_refusal(const std::string& text) = 0;

 private:
  template <class Work>
  bool run(Work&& work);
  bool enter();
  void leave() noexcept;
  void answer(ParameterAnswer answer);
  bool speak() noexcept;
  static void let_go(std::shared_ptr<ParameterReceiver> receiver, bool is_cancelled) noexcept;

  std::mutex mutex_;
  bool is_busy_ = false, has_ended_ = false, has_spoken_ = false;
  std::shared_ptr<ParameterReceiver> receiver_;
  ByteWriter places_;
};

}  // namespace nyala::detail
