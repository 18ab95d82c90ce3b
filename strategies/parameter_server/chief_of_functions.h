#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/chief_alone.h>
#include <nyala/strategies/parameter_server/coordinator.h>
#include <nyala/strategies/parameter_server/remote_parameters.h>

namespace nyala::detail {

/// What goes with the variables.
class FollowsFunctions {
 public:
  virtual ~FollowsFunctions() = default;
  /// A function is scheduled: servers get what has changed here. False where nothing has.
  virtual bool publish() = 0;
  /// All functions have ended: what servers have comes here.
  virtual void take_over() = 0;
  /// A server may have lost what was published.
  virtual void restarted() = 0;
};

/// The chief's part of functions that workers carry out. While it waits it looks after the servers, too: they
/// write snapshots, and what one that is started again has lost is done again. One thread at a time.
class ChiefOfFunctions {
 public:
  /// `timeout`: so long it waits for workers where there are none. `snapshots`: the time between two.
  ChiefOfFunctions(RemoteParameters& parameters, Coordinator& coordinator, std::chrono::milliseconds timeout,
                   std::chrono::milliseconds snapshots);

  /// Throws the first error of those before.
  std::shared_ptr<FunctionOutcome> schedule(const std::string& name, std::vector<std::byte> arguments);
  /// Waits until all have ended, and takes the servers' values. Throws the first error.
  void join();
  /// Whether all have ended. Throws the first error.
  bool done();
  /// Until it is no longer pending.
  void wait(const FunctionOutcome& outcome);

  /// By whom they follow.
  std::map<std::weak_ptr<const void>, std::unique_ptr<FollowsFunctions>, std::owner_less<>> followers;

 private:
  void rethrow_first_error();
  void check_variables();
  /// While functions wait or are carried out: whether all is well.
  void look();
  void look_after_servers(bool now);
  void snapshot();
  /// How many functions have returned.
  uint64_t mark();

  using Clock = std::chrono::steady_clock;

  RemoteParameters& parameters_;
  Coordinator& coordinator_;
  std::chrono::milliseconds between_snapshots_;
  Clock::time_point looked_ = {}, saved_ = {};
  ChiefAlone alone_;
  bool has_snapshots_ = true;
  uint64_t saved_mark_ = 0;  // of the last snapshot
};

}  // namespace nyala::detail
