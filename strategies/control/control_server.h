#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

/// The control plane of a cluster, in the launcher's process or the chief's; where processes elect who
/// serves, in each of them.
class ControlServer {
 public:
  /// Throws as check_control_security() and listen_control().
  ControlServer(const HostPort& address, const ControlSecurity& security, ControlStateOptions state);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Returns when all processes have left or their generation has failed, at the latest after that time.
  void wait_until_left(std::chrono::milliseconds timeout) const;
  /// Where a start was refused to some: returns when all have heard why, at the latest after that time.
  void wait_until_all_are_refused(std::chrono::milliseconds timeout) const;
  /// As ControlState's.
  void process_ended(int rank, const std::string& how, bool comes_back) {
    state_.process_ended(rank, how, comes_back);
  }
  bool has_left(int rank) const { return state_.has_left(rank); }
  std::vector<SilentProcess> left_behind() const { return state_.left_behind(); }
  void serve(uint64_t generation) { state_.serve(generation); }
  void stand_by(int rank, const std::string& address, uint64_t generation) {
    state_.stand_by(rank, address, generation);
  }
  void note_dead(std::set<int> dead, std::set<int> given_up) {
    state_.note_dead(std::move(dead), std::move(given_up));
  }
  bool serves() const { return state_.serves(); }
  std::map<int, std::string> heard_from() const { return state_.heard_from(); }
  std::pair<uint64_t, bool> standing() const { return state_.standing(); }
  std::vector<int> absent_ranks() const { return state_.absent_ranks(); }
  std::vector<AwaitedProcess> awaited() const { return state_.awaited(); }
  bool has_been_joined() const { return state_.has_been_joined(); }
  /// Those who wait for the start hear that nobody comes any more, and why.
  void give_up(const std::string& why) { state_.give_up(why); }
  /// Where clients find it.
  const HostPort& address() const { return address_; }

 private:
  void run_clock();

  ControlState state_;
  HostPort address_;
  std::unique_ptr<ControlListener> listener_;
  std::atomic<bool> ends_{false};
  std::thread clock_;
};

}  // namespace nyala::detail
