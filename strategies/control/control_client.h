#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala::detail {

/// What the control plane tells unasked.
struct ControlNotice {
  enum class Kind { generation_ended, preemption };
  Kind kind = Kind::generation_ended;
  uint64_t generation = 0;
  int rank = -1;         ///< that was lost or failed; -1 where nobody knows
  bool is_lost = false;  ///< it is gone, not merely wrong
  bool is_over = false;  ///< no other generation follows
  std::string text = {};
};

/// The control plane closes, or is that of another process: there is or may be another one soon.
struct ControlMovedError : CommunicationError {
  using CommunicationError::CommunicationError;
};

struct ControlClientOptions {
  HostPort address = {};
  ControlSecurity security = {};
  int rank = 0, size = 1;        ///< as this process was started
  std::string own_address = {};  ///< for the other processes; "" where there is none
  std::string place = {};        ///< the same for those that can share memory
  /// What all have to have in common from the start: version of the library, seed, devices.
  ControlFacts facts = {};
  std::chrono::milliseconds timeout = std::chrono::minutes(5);    ///< of what has no timeout of its own
  std::chrono::milliseconds heartbeat = std::chrono::seconds(2);  ///< the server's, or less
  bool is_elected = false;  ///< the processes elect who serves: nobody joins before aim_at()
  /// Called by a thread of the client, once for each; may not join nor end the client. What ended a
  /// generation is also what every later question throws.
  std::function<void(const ControlNotice&)> on_notice = {};
};

/// A process' side of the control plane. All functions but join() are thread-safe, and throw
/// CommunicationError: TimeoutError where others do not come (naming who is missing), PeerLostError where one
/// was lost. Once a generation has ended, what asks for others throws the first reason at once, until join()
/// begins the next one.
class ControlClient final : public Rendezvous {
 public:
  /// Connects and joins, unless `is_elected`. Throws as join(), and as check_control_security().
  explicit ControlClient(ControlClientOptions config);
  ~ControlClient() override;

  /// Waits for all processes. Throws where they disagree on a fact, naming both sides.
  void join(std::optional<std::chrono::milliseconds> timeout = {});
  /// The next join() asks there. Throws ControlMovedError then where nobody serves there, PeerLostError where
  /// that one is lost meanwhile.
  void aim_at(const HostPort& address);
  /// From another thread: a join that waits throws CommunicationError soon.
  void cancel_join() { connection()->cancel(); }
  /// Where processes elect who serves: waits until all of the generation have come here. From then on nobody
  /// goes on without a majority of it.
  void confirm(std::optional<std::chrono::milliseconds> timeout = {});
  uint64_t generation() const;
  /// Of this process in the generation: its place among members().
  int rank() const;
  std::vector<ControlMember> members() const;
  /// Whether the control plane was there when it was last asked.
  bool is_reachable() const;

  void set(std::string_view key, std::string_view value) override;
  std::optional<std::string> get(std::string_view key) override;
  std::string wait(std::string_view key, std::chrono::milliseconds timeout) override;
  std::string describe() const override;

  /// Returns when all processes are here.
  void barrier(const std::string& name, std::optional<std::chrono::milliseconds> timeout = {});
  /// The same, and throws everywhere where they do not bring the same facts.
  void agree(const std::string& name, const ControlFacts& facts,
             std::optional<std::chrono::milliseconds> timeout = {});
  /// Ends the generation for everybody, with this text; for good: no process of it joins another one.
  void abort(const std::string& text, bool for_good = false);
  /// Whether a process that comes from now on ends the generation; at its begin it waits.
  void take_newcomers(bool takes) { set(kTakesNewcomers, takes ? "1" : "0"); }
  /// Tells everybody that this process is about to be taken away.
  void announce_preemption(const std::string& text);
  /// This process ends well: it is not lost when it is not heard of any more.
  void leave();

 private:
  ControlReply ask(ControlRequest request, std::chrono::milliseconds timeout) const;
  ControlReply ask_well(ControlRequest request, std::chrono::milliseconds timeout) const;
  /// What needs no answer, over a connection that is there: a control plane that has gone is not waited for.
  void tell(ControlRequest request) const;
  ControlReply ask_until_open(const ControlRequest& request, std::chrono::milliseconds timeout) const;
  ControlBase base(bool is_established) const;
  ControlRequest request_of(ControlCall call) const;
  void watch(uint64_t generation);
  /// Asks once; false when the generation has ended, with what is to be told then.
  std::optional<ControlNotice> heard_by_watch(uint64_t generation);
  void say_that_it_lives(uint64_t generation);
  void stop_watching();
  void give_up_connection();
  std::shared_ptr<ControlConnection> connection() const;
  void notify(const ControlNotice& notice) const;

  ControlClientOptions config_;
  std::string host_;
  uint64_t process_;
  std::shared_ptr<ControlConnection> connection_;  // guarded by mutex_
  std::unique_ptr<ControlConnection> watch_connection_;
  std::atomic<bool> has_left_{false};
  mutable Mutex mutex_;  // of the next five
  bool is_reachable_ = false;
  int rank_ = 0;
  uint64_t generation_ = 0, seen_ = 0;
  std::vector<ControlMember> members_;
  std::vector<ControlBase> bases_;  // of the thread that joins
  std::thread watcher_;
};

}  // namespace nyala::detail
