#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace nyala {

/// While one lives, the first signal of those that are watched in this process, by whichever watch, is only
/// noted, so that work can come to a good end; the next one does what it does by default, which mostly ends
/// the process at once. A signal that was ignored before stays so (nohup). What signals did before comes back
/// with the end of the watch: watches that share signals end in the opposite order of their beginning.
class SignalWatch {
 public:
  /// Throws InvalidArgumentError where the system lets nobody watch one of them.
  explicit SignalWatch(const std::vector<int>& numbers);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// That of this watch's signals which came, 0 if none did.
  int signal() const;

 private:
  void restore() const;

  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace nyala
