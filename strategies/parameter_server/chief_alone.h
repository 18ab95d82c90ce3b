#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace nyala::detail {

/// A chief that waits for workers of whom none is there: says so after a few seconds, and gives up in the
/// end.
class ChiefAlone {
 public:
  /// `who` begins messages: "fit".
  ChiefAlone(std::string who, std::chrono::milliseconds timeout) : who_(std::move(who)), timeout_(timeout) {}

  /// How many workers there are, again and again while something waits for them. Throws CommunicationError
  /// where there were none for `timeout`.
  void look(int workers);

 private:
  using Clock = std::chrono::steady_clock;

  std::string who_;
  std::chrono::milliseconds timeout_;
  std::optional<Clock::time_point> since_;
  bool has_said_so_ = false;
};

}  // namespace nyala::detail
