// Method: one thread that waits in poll() for signals (signalfd), for what the ranks write and for what can
// be written.
#include <nyala/tools/launch/launcher.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nyala/api/callbacks/preemption_checkpoint_handler.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/files/base/folder.h>
#include <nyala/tools/launch/task_plan.h>

namespace nyala::tools {

namespace {

using namespace std::chrono_literals;

/// Signals that are read from a stream from now on; the process ends with the launch, so that they stay
/// blocked.
int open_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&all, number);
  struct sigaction hangup = {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&all, SIGHUP);  // nohup
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  return ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

int open_log(const std::string& folder, std::string name, const char* ending) {
  if (folder.empty()) return -1;
  std::replace(name.begin(), name.end(), ' ', '-');
  const std::string path = folder + "/" + name + ending;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    throw IoError("launch: cannot write " + detail::in_quotes(path) + ": " + std::strerror(errno));
  return file;
}

std::optional<std::string> input_of(const RankPlan& plan) {
  if (plan.is_local) return std::nullopt;
  return plan.token + "\n";
}

std::string drawn_token() {
  std::string token;
  for (int i = 0; i < 4; ++i) token += std::to_string(detail::system_random());
  return token;
}

std::string whole_seconds(std::chrono::steady_clock::duration time) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
}

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

/// Null where servers have another place, or none: NYALA_SNAPSHOTS that is empty.
std::unique_ptr<TemporaryFolder> temporary_snapshots(const LaunchConfig& config) {
  if (config.ps == 0 || !config.snapshots.empty() || std::getenv("NYALA_SNAPSHOTS")) return nullptr;
  return std::make_unique<TemporaryFolder>("nyala-snapshots-");
}

}  // namespace

Launcher::Launcher(LaunchConfig config)
    : config_(std::move(config)),
      snapshots_(temporary_snapshots(config_)),
      guard_(snapshots_ ? snapshots_->path() : std::string()),
      output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      restarts_left_(config_.restarts) {
  if (snapshots_) config_.snapshots = snapshots_->path();
  if (!config_.logs.empty()) make_folder("launch", "logs", config_.logs);
  if (config_.ps > 0 && !config_.snapshots.empty()) make_folder("launch", "snapshots", config_.snapshots);
  for (RankPlan& plan : config_.ps > 0 ? plan_tasks(config_) : plan_ranks(config_)) {
    const std::string prefix = "[" + (plan.job.empty() ? std::to_string(plan.rank) : plan.name) + "] ";
    Rank rank;
    rank.output =
        std::make_unique<LineSource>(prefix, output_, open_log(config_.logs, plan.name, ".out"), errors_);
    rank.errors =
        std::make_unique<LineSource>(prefix, errors_, open_log(config_.logs, plan.name, ".err"), errors_);
    rank.plan = std::move(plan);
    ranks_.push_back(std::move(rank));
  }
}

int Launcher::run() {
  signals_ = open_signals();
  serve();  // its threads leave the signals to this one
  for (Rank& rank : ranks_) start(rank);
  while (!is_done()) {
    wait_for_something();
    handle_signals();
    collect_ended();
    end_frozen_ranks();
    end_ranks_that_never_came();
    end_due_ranks();
    start_due_ranks();
  }
  ::close(signals_);
  if (broken_) throw IoError("cannot write to the standard output");
  if (signal_ != 0) return preempted_ ? preemption_exit_code : 128 + signal_;
  return chief_status_.value_or(first_failure_);
}

/// The control plane by which the ranks meet lives here: it outlives each of them. Tasks of a cluster with
/// parameter servers meet at the servers and the chief.
void Launcher::serve() {
  if (!detail::grpc_is_built()) return;  // the ranks, of this build, will say so where they need it
  detail::ControlSecurity security = detail::control_security_of(Environment());
  if (security.token.empty() && !security.has_tls()) security.token = drawn_token();
  for (Rank& rank : ranks_) rank.plan.token = security.token;
  if (config_.ps > 0) return;
  const auto seconds = std::chrono::duration<double>(config_.rejoin_timeout);
  server_ = std::make_unique<detail::ControlServer>(
      detail::HostPort{coordinator_host(config_, plans()), 0}, security,
      detail::ControlStateOptions{
          .size = static_cast<int>(ranks_.size()),
          .min_size = config_.min_workers,
          .rejoin_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(seconds)});
  for (Rank& rank : ranks_) {
    rank.plan.variables.emplace_back("NYALA_COORDINATOR", server_->address().text());
    const bool rejoins = config_.restarts > 0 || config_.min_workers > 0;
    rank.plan.variables.emplace_back("NYALA_REJOIN", rejoins ? "1" : "0");
  }
}

std::vector<RankPlan> Launcher::plans() const {
  std::vector<RankPlan> plans;
  for (const Rank& rank : ranks_) plans.push_back(rank.plan);
  return plans;
}

std::string Launcher::name_of(const Rank& rank) const {
  return rank.plan.name + (rank.plan.is_local ? "" : " on " + rank.plan.host);
}

void Launcher::start(Rank& rank) {
  const int restart = rank.starts++;
  rank.start_at.reset();
  rank.is_given_up = false;
  rank.started = Clock::now();
  rank.process =
      std::make_unique<RankProcess>(ProcessStart{.arguments = arguments_of(config_, rank.plan, restart),
                                                 .environment = environment_of(rank.plan, restart),
                                                 .input = input_of(rank.plan)});
  guard_.watch(rank.process->id());
}

void Launcher::start_due_ranks() {
  for (Rank& rank : ranks_) {
    if (!rank.start_at) continue;
    if (terminate_at_ || kill_at_)
      rank.start_at.reset();
    else if (Clock::now() >= *rank.start_at)
      start(rank);
  }
}

bool Launcher::is_done() const {
  const bool written = output_.is_empty() && errors_.is_empty();
  return (written || (kill_at_ && Clock::now() > *kill_at_)) &&
         std::none_of(ranks_.begin(), ranks_.end(),
                      [](const Rank& rank) { return rank.process || rank.start_at; });
}

void Launcher::wait_for_something() {
  std::vector<pollfd> streams = {{signals_, POLLIN, 0}};
  for (const LineSink* const sink : {&output_, &errors_})
    streams.push_back({sink->is_empty() ? -1 : sink->stream(), POLLOUT, 0});
  const bool room = !output_.is_full() && !errors_.is_full();
  for (const Rank& rank : ranks_)
    for (const bool is_output : {true, false}) {
      const int stream = !rank.process ? -1 : is_output ? rank.process->output() : rank.process->errors();
      streams.push_back({room ? stream : -1, POLLIN, 0});
    }
  const bool soon = terminate_at_ || kill_at_ ||
                    std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.start_at; });
  ::poll(streams.data(), streams.size(), soon ? 50 : server_ ? 500 : -1);
  if (streams[1].revents) output_.write_some();
  if (streams[2].revents) errors_.write_some();
  for (size_t i = 0; i < ranks_.size(); ++i)
    for (const size_t part : {0, 1}) {
      if (!streams[3 + 2 * i + part].revents) continue;
      LineSource& source = part == 0 ? *ranks_[i].output : *ranks_[i].errors;
      source.read(streams[3 + 2 * i + part].fd);
    }
  if (output_.is_broken() && !broken_) {
    broken_ = true;
    let_end(0);
  }
}

void Launcher::handle_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;
    if (signal_ != 0) {  // the second one
      is_impatient_ = true;
      kill_at_ = Clock::now();
      continue;
    }
    if (first_failure_ == 0) signal_ = number;
    say(signal_name(number) + ": ending all " + (config_.ps > 0 ? "tasks" : "ranks"));
    let_end(0);
  }
}

void Launcher::let_end(double seconds) {
  const auto at =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (!kill_at_) terminate_at_ = std::min(at, terminate_at_.value_or(at));
}

void Launcher::end_due_ranks() {
  const auto send = [&](int number) {
    for (const Rank& rank : ranks_)
      if (rank.process && is_told_to_end(rank)) rank.process->signal(number);
  };
  if (terminate_at_ || kill_at_) end_servers_that_serve_nobody();
  const auto now = Clock::now();
  if (terminate_at_ && now >= *terminate_at_) {
    terminate_at_.reset();
    send(SIGTERM);
    kill_at_ =
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config_.grace));
  }
  if (kill_at_ && now >= *kill_at_) send(SIGKILL);
}

void Launcher::collect_ended() {
  for (Rank& rank : ranks_) {
    siginfo_t info = {};
    if (!rank.process ||
        ::waitid(P_PID, static_cast<id_t>(rank.process->id()), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      continue;
    guard_.forget(rank.process->id());
    const int status = rank.process->collect();
    for (const auto& [source, stream] : {std::pair(rank.output.get(), rank.process->output()),
                                         std::pair(rank.errors.get(), rank.process->errors())}) {
      pollfd more{stream, POLLIN, 0};
      while (::poll(&more, 1, 0) == 1 && source->read(stream)) {
      }
      source->finish();
    }
    rank.process.reset();
    note_end(rank, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

/// What SIGTERM does not reach, and what keeps the others from having another one in its place.
void Launcher::end_frozen_ranks() {
  if (!server_) return;
  for (const detail::SilentProcess& silent : server_->left_behind()) {
    Rank& rank = ranks_.at(static_cast<size_t>(silent.rank));
    end_silent(rank, "is frozen, it was not heard of for " + whole_seconds(silent.silence));
  }
}

/// For whom the others wait in vain. One that is slow may come until little of their time is left; then
/// another one in its place is what can help them.
void Launcher::end_ranks_that_never_came() {
  using std::chrono::milliseconds;
  if (!server_) return;
  const auto rejoin = std::chrono::duration<double>(config_.rejoin_timeout);
  const milliseconds heartbeats = 3 * detail::ControlStateOptions().heartbeat;
  for (const detail::AwaitedProcess& one : server_->awaited()) {
    Rank& rank = ranks_.at(static_cast<size_t>(one.rank));
    if (!rank.process) continue;
    auto silence = std::max<Clock::duration>(one.awaited, Clock::now() - first_end_.value_or(Clock::now()));
    silence = std::min(silence, Clock::now() - rank.started);
    auto patience = std::chrono::duration_cast<milliseconds>(rejoin);
    if (one.timeout.count() > 0) patience = std::min(patience, one.timeout / 2);
    const bool is_late = restarts_left_ > 0 && one.timeout.count() > 0 && silence > one.timeout * 3 / 4;
    const bool is_frozen = silence > heartbeats + patience && rank.process->is_stopped();
    if (!is_late && !is_frozen) continue;
    end_silent(rank, std::string(is_frozen ? "is frozen (stopped)" : "does not come") +
                         ": it has never been at the control plane, in " + whole_seconds(silence) +
                         " in which others were there or have ended");
  }
}

void Launcher::end_silent(Rank& rank, const std::string& why) {
  if (!rank.process || std::exchange(rank.is_given_up, true)) return;
  say(name_of(rank) + " " + why + ": it is killed");
  rank.process->signal(SIGKILL);
}

/// Several processes of which each takes itself for the only one.
void Launcher::note_that_nobody_came() {
  const bool one_is_left = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.process || rank.start_at || !rank.has_ended_well;
  });
  if (one_is_left || ranks_.size() == 1 || !server_ || server_->has_been_joined()) return;
  say("none of the " + std::to_string(ranks_.size()) +
      " processes has come to the control plane: each ran by itself. Processes train together where the "
      "program makes a MultiWorkerMirroredStrategy; nyala fit does with --strategy multi_worker");
}

void Launcher::start_again(Rank& rank, const std::string& what) {
  --restarts_left_;
  say(what + "; it is started again, " + std::to_string(restarts_left_) +
      (restarts_left_ == 1 ? " more restart is left" : " more restarts are left"));
  rank.start_at = std::max(Clock::now(), rank.started + 1s);  // not faster than that
}

void Launcher::note_end(Rank& rank, int status) {
  rank.has_ended_well = status == 0;
  if (!first_end_) first_end_ = Clock::now();
  preempted_ = preempted_ || status == preemption_exit_code;
  const bool by_signal = status > 128 && ::sigabbrev_np(status - 128);
  const std::string how =
      by_signal ? "was ended by " + signal_name(status - 128) : "ended with status " + std::to_string(status);
  if (!rank.plan.job.empty()) return note_task_end(rank, status, name_of(rank) + " " + how);
  is_over_ = is_over_ || (rank.has_ended_well && server_ && server_->has_left(rank.plan.rank));
  const bool is_ending = terminate_at_ || kill_at_;
  const bool is_needed = !rank.has_ended_well && status != preemption_exit_code;
  const bool comes_back = is_needed && !is_ending && restarts_left_ > 0 && !is_over_;
  if (server_) server_->process_ended(rank.plan.rank, how, comes_back);
  if (rank.has_ended_well) return note_that_nobody_came();
  const std::string what = name_of(rank) + " " + how;
  if (is_ending) {
    if (status != 128 + SIGTERM && status != 128 + SIGKILL) say(what);  // else it was the launcher
    return;
  }
  if (comes_back) return start_again(rank, what);
  const auto goes_on = [](const Rank& other) { return other.process || other.has_ended_well; };
  if (is_needed && config_.min_workers > 0 &&
      std::count_if(ranks_.begin(), ranks_.end(), goes_on) >= config_.min_workers)
    return say(what + "; the others " + (is_over_ ? "have ended training" : "go on without it"));
  first_failure_ = status;
  const bool could_start = is_needed && restarts_left_ > 0;
  say(what + (could_start ? "; it is not started again, others have ended training" : ""));
  let_end(config_.grace);
}

}  // namespace nyala::tools
