#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <nyala/strategies/communicators/process_communicators.h>

namespace nyala {

/// The processes of a strategy, one generation after another. A generation ends with its first failure: its
/// communicators are dead then, and those who still live, and newcomers in the place of others, meet in the
/// next one. Where a newcomer is to be taken in, the group itself kills the communicators that join() gave.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  /// Waits until all processes of the next generation are there, and connects them. Ranks and their number
  /// may be others than before; CommunicatorOptions::generation has risen. Throws CommunicationError where no
  /// generation forms in time, and where abort() was called anywhere.
  virtual ProcessCommunicators join() = 0;
  /// Until when those that join() connected have to have said to each other what they come with; none: for
  /// their communicators' timeout.
  virtual std::optional<std::chrono::steady_clock::time_point> agreed_by() const { return {}; }
  /// Whether there may be another generation after this one: a failure is not the end. False after abort().
  virtual bool can_rejoin() const = 0;
  /// The reason that somebody gave abort(), as far as this process knows it; "" for none.
  virtual std::string ended_by() const { return {}; }
  /// Ends training in all processes for good, with `reason`: an error of the program, not a lost process.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Whether newcomers are taken in from now on, until the generation ends: it ends when one comes. At its
  /// begin they are not: they wait. Called by one process; groups whose processes do not come later need it
  /// not.
  virtual void take_newcomers(bool) noexcept {}
  /// This process ends well: nobody is to miss it.
  virtual void leave() noexcept = 0;
  /// For messages: "3 processes of the control plane at a:2222".
  virtual std::string describe() const = 0;
};

}  // namespace nyala
