#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nyala/strategies/control/control_server.h>
#include <nyala/tools/launch/group_guard.h>
#include <nyala/tools/launch/line_streams.h>
#include <nyala/tools/launch/rank_plan.h>
#include <nyala/tools/launch/rank_process.h>
#include <nyala/tools/launch/temporary_folder.h>

namespace nyala::tools {

/// Starts the ranks of a launch and stays with them to their end.
class Launcher {
 public:
  /// Throws IoError where a folder for logs or snapshots cannot be made.
  explicit Launcher(LaunchConfig config);

  /// The exit status: 0 where all ranks ended with it; that of the first rank that failed, 128 + its signal
  /// where one ended it; after a signal to the launcher 42 where a rank says that it has saved and stops
  /// before its time (exit status 42), else 128 + that signal. With parameter servers that of the chief where
  /// it has ended by itself. Throws IoError where a rank cannot be started.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    RankPlan plan;
    std::unique_ptr<LineSource> output, errors;
    std::unique_ptr<RankProcess> process;
    bool has_ended_well = false, is_given_up = false;
    int starts = 0;
    Clock::time_point started = {};
    std::optional<Clock::time_point> start_at = {};
  };

  void serve();
  std::vector<RankPlan> plans() const;
  void start(Rank& rank);
  void start_due_ranks();
  bool is_done() const;
  void wait_for_something();
  void handle_signals();
  void collect_ended();
  void note_end(Rank& rank, int status);
  void start_again(Rank& rank, const std::string& what);
  void note_task_end(Rank& task, int status, const std::string& what);
  void note_failed_task(const Rank& task, int status, const std::string& what);
  bool runs(const char* job) const;
  bool chief_comes_back() const;
  void start_for_next_chief(Rank& task);
  void end_servers_that_serve_nobody();
  bool is_told_to_end(const Rank& rank) const;
  void end_frozen_ranks();
  void end_ranks_that_never_came();
  void end_silent(Rank& rank, const std::string& why);
  void note_that_nobody_came();
  void let_end(double seconds);
  void end_due_ranks();
  void say(const std::string& text) { errors_.add("nyala launch: " + text + "\n"); }
  std::string name_of(const Rank& rank) const;

  LaunchConfig config_;
  std::unique_ptr<TemporaryFolder> snapshots_;  // of servers that are told no other place
  GroupGuard guard_;
  std::unique_ptr<detail::ControlServer> server_;
  std::vector<Rank> ranks_;
  LineSink output_, errors_;
  int signals_ = -1;
  int restarts_left_;
  int first_failure_ = 0, signal_ = 0;
  std::optional<int> chief_status_;
  bool preempted_ = false, broken_ = false;
  bool is_impatient_ = false;                   ///< a second Ctrl-C
  bool servers_end_ = false;                    ///< nobody else runs any more
  bool is_over_ = false;                        ///< a rank has ended training in order, and then itself
  std::optional<Clock::time_point> first_end_;  ///< of a rank
  /// When the ranks that still run are sent SIGTERM, and when SIGKILL.
  std::optional<Clock::time_point> terminate_at_, kill_at_;
};

}  // namespace nyala::tools
