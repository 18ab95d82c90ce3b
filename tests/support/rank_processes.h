#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nyala/tests/support/scratch_folder.h>

namespace nyala {

/// The test that runs, once more in processes of its own: this program is started `size` times with this test
/// as its only one. A test begins with `if (RankProcesses::rank()) return work();`, and what it expects there
/// counts. All are killed in the end.
class RankProcesses {
 public:
  /// How one ended: its exit code, or -1 and a signal, and what it printed.
  struct End {
    int code = -1;
    int signal = 0;
    std::string output;
  };

  /// In such a process: which one it is.
  static std::optional<int> rank();
  static int size();
  /// An empty folder that all of them see.
  static std::string folder();
  /// In them: leaves a note in the folder, and waits for one; false where there is none within 20 s.
  static void note(const std::string& name, const std::string& text = "");
  static bool wait_for_note(const std::string& name);

  explicit RankProcesses(int size);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  void send(int rank, int signal);
  /// Starts that rank once more.
  void start(int rank);
  /// The end of one that has ended; none while it runs.
  std::optional<End> ended(int rank);
  /// The end of one, killed where it does not end within that time (its signal is then SIGKILL).
  End wait(int rank, std::chrono::milliseconds time = std::chrono::seconds(60));

 private:
  End end_of(int rank, int status);
  std::string output_of(int rank) const { return folder_.file("output-" + std::to_string(rank)); }

  ScratchFolder folder_{"processes"};
  std::string test_;
  std::vector<pid_t> ids_;
};

}  // namespace nyala
