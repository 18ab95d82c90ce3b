#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nyala::tools {

/// Either as many ranks alike, or the tasks of a cluster with parameter servers.
struct LaunchConfig {
  int processes = 0;       ///< 0: as many as the hosts have places
  std::string hosts = {};  ///< "a:2,b:2"; empty: all on this machine
  std::string ssh = {};    ///< how a command runs on a host: words, with {host} and {command} in them
  int ps = 0;              ///< parameter servers; 0: ranks alike
  int workers = 0;         ///< with ps
  bool chief = false;      ///< with ps: one task more, which ends the others when it ends
  std::string snapshots =
      {};            ///< with ps: their folder; empty: NYALA_SNAPSHOTS, else one that goes with the job
  int restarts = 0;  ///< of ranks that failed, in all
  bool restarts_chief = true;
  std::string logs = {};         ///< folder for what each rank writes; empty: none
  int min_workers = 0;           ///< so few go on without those that failed; 0: all are needed
  double rejoin_timeout = 30;    ///< seconds that they wait for the others
  std::string coordinator = {};  ///< this machine's address for the hosts; empty: found out
  double grace = 10;             ///< seconds
  std::vector<std::string> command = {};
};

/// Where one process runs, and what it is told.
struct RankPlan {
  std::string name = {};  ///< "rank 0", "chief", "worker 0", "ps 0"
  std::string job = {};   ///< "chief", "worker" or "ps"; empty where all are alike
  int rank = 0, local_rank = 0, local_size = 1;
  std::string host = {};
  bool is_local = true;
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string token = {};  ///< NYALA_TOKEN
};

/// The ranks of a launch in order, by block: the first host's places first. Throws InvalidArgumentError for a
/// list of hosts that is none, has too few places or mixes the loopback with others.
std::vector<RankPlan> plan_ranks(const LaunchConfig& config);

/// Where ranks of other hosts reach this machine, or 127.0.0.1 where there are none.
std::string coordinator_host(const LaunchConfig& config, const std::vector<RankPlan>& ranks);

/// What this machine starts for a rank: the command itself, or with the ssh template one that takes it to its
/// host. `restart` is how many times the rank was started before. There the program's token is the first line
/// of the standard input, since everybody on a host sees the words of a command.
std::vector<std::string> arguments_of(const LaunchConfig& config, const RankPlan& rank, int restart);

/// The environment of a rank on this machine: the launcher's, with the rank's variables.
std::vector<std::string> environment_of(const RankPlan& rank, int restart);

}  // namespace nyala::tools
