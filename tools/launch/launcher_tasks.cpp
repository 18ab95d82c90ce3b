// What the launcher does where tasks of a cluster with parameter servers end.
#include <nyala/tools/launch/launcher.h>

#include <algorithm>
#include <csignal>
#include <string>

#include <nyala/api/callbacks/preemption_checkpoint_handler.h>

namespace nyala::tools {

/// Or will run again.
bool Launcher::runs(const char* job) const {
  return std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
    return rank.plan.job == job && (rank.process || (rank.start_at && !terminate_at_ && !kill_at_));
  });
}

/// Servers are needed by those who save before they end.
bool Launcher::is_told_to_end(const Rank& rank) const {
  return rank.plan.job != "ps" || servers_end_ || is_impatient_;
}

void Launcher::end_servers_that_serve_nobody() {
  if (config_.ps == 0 || servers_end_ || runs("chief") || runs("worker")) return;
  servers_end_ = true;
  terminate_at_ = Clock::now();
  if (!is_impatient_) kill_at_.reset();
}

bool Launcher::chief_comes_back() const {
  return std::ranges::any_of(
      ranks_, [](const Rank& rank) { return rank.plan.job == "chief" && rank.start_at && !rank.process; });
}

/// The chief that failed has ended it.
void Launcher::start_for_next_chief(Rank& task) {
  task.has_ended_well = false;
  task.start_at = std::max(Clock::now(), task.started + std::chrono::seconds(1));
}

void Launcher::note_task_end(Rank& task, int status, const std::string& what) {
  const bool is_ending = terminate_at_ || kill_at_;
  const bool by_launcher = kill_at_ && (status == 128 + SIGTERM || status == 128 + SIGKILL);
  const bool may_come_back = task.plan.job != "chief" || config_.restarts_chief;
  if (task.has_ended_well) {
    if (task.plan.job == "chief") let_end(config_.grace);
    if (chief_comes_back()) start_for_next_chief(task);
  } else if (is_ending) {
    if (!by_launcher) say(what);
  } else if (status != preemption_exit_code && may_come_back && restarts_left_ > 0) {
    start_again(task, what);
    for (Rank& other : ranks_)
      if (task.plan.job == "chief" && other.has_ended_well && !other.process) start_for_next_chief(other);
    return;
  } else {
    note_failed_task(task, status, what);
  }
  if (task.plan.job == "chief" && !by_launcher) chief_status_ = status;
  end_servers_that_serve_nobody();
}

void Launcher::note_failed_task(const Rank& task, int status, const std::string& what) {
  if (first_failure_ == 0) first_failure_ = status;
  const bool is_worker = task.plan.job == "worker";
  if (is_worker && runs("worker")) return say(what + "; the others go on without it");
  say(what + (is_worker ? ", the last worker" : ""));
  let_end(config_.grace);
}

}  // namespace nyala::tools
