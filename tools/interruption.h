#pragma once

namespace nyala::tools {

/// While one lives, the first SIGINT, SIGTERM or SIGHUP is only noted, so that training can end after its
/// step and save; a second one ends the program at once. A SIGHUP that is ignored (nohup) stays so. One at a
/// time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Of the signal that came, 0 if none did.
  static int signal();
};

/// Thrown to end the program with a status, after everything that was to be said.
struct ExitStatus {
  int status;
};

}  // namespace nyala::tools
