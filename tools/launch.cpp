#include <memory>

#include <nyala/strategies/cluster/environment.h>
#include <nyala/tools/command.h>
#include <nyala/tools/launch/launcher.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

namespace {

constexpr int kMost = 4096, kMostRestarts = 1'000'000;
/// Of servers and workers, where the command does not say how many.
constexpr int kRestartsWithServers = 10;

void launch(const LaunchConfig& config) {
  if (config.processes == 0 && config.hosts.empty() && config.ps == 0)
    throw InvalidArgumentError(
        "launch: expected -n, how many processes to start, or --hosts, or --ps and --workers");
  if (config.ssh.find("{host}") == std::string::npos || config.ssh.find("{command}") == std::string::npos)
    throw InvalidArgumentError("--ssh: expected a command with {host} and {command} in it, received " +
                               detail::in_quotes(config.ssh));
  if (config.min_workers > config.processes && config.hosts.empty())
    detail::throw_wrong_setting("--min-workers", "at most the " + std::to_string(config.processes) + " of -n",
                                std::to_string(config.min_workers));
  if (!config.coordinator.empty() && !detail::is_host(config.coordinator))
    detail::throw_wrong_setting("--coordinator", "a host's name or address",
                                detail::in_quotes(config.coordinator));
  if (const int status = Launcher(config).run()) throw ExitStatus{status};
}

/// Behind the other options, with most of which they do not go together.
void add_servers(CLI::App& command, LaunchConfig& config) {
  CLI::Option* const ps = command.add_option(
      "--ps", config.ps, "how many parameter servers, of a cluster with --workers on this machine");
  CLI::Option* const workers = command.add_option("--workers", config.workers, "how many workers, with --ps");
  for (CLI::Option* const option : {ps, workers}) option->transform(whole_number(1, kMost));
  ps->needs(workers);
  workers->needs(ps);
  command.add_flag("--chief", config.chief, "with --ps: one task more; the job ends when it ends")->needs(ps);
  command
      .add_option("--snapshots", config.snapshots,
                  "with --ps: a folder where servers keep what they go on from when they are started again; "
                  "by default one that is removed with the job")
      ->needs(ps);
  for (const char* other :
       {"--processes", "--hosts", "--ssh", "--min-workers", "--rejoin-timeout", "--coordinator"})
    ps->excludes(other);
}

}  // namespace

void add_launch(CLI::App& app) {
  const auto config = std::make_shared<LaunchConfig>();
  CLI::App* command =
      app.add_subcommand("launch", "Starts a program as several processes that form a cluster.");
  command->add_option("-n,--processes,--max-workers", config->processes, "how many")
      ->transform(whole_number(1, kMost));
  command->add_option("--hosts", config->hosts, "hosts and how many processes each takes: a:2,b:2");
  config->ssh = "ssh -o BatchMode=yes {host} {command}";
  command->add_option("--ssh", config->ssh, "how a command is run on another host")->capture_default_str();
  CLI::Option* const restarts =
      command
          ->add_option("--restarts", config->restarts,
                       "how many times processes that fail are started again, in all; with --ps " +
                           std::to_string(kRestartsWithServers) +
                           " by default, of servers and workers, and of the chief where this is given")
          ->transform(whole_number(0, kMostRestarts))
          ->capture_default_str();
  command
      ->add_option("--min-workers", config->min_workers,
                   "so few go on without those that failed; without it all are needed")
      ->transform(whole_number(1, kMost));
  command
      ->add_option("--rejoin-timeout", config->rejoin_timeout,
                   "seconds that the others wait for one that is frozen, and with --min-workers for one that "
                   "failed")
      ->transform(number_from(0, 1e6))
      ->capture_default_str();
  command->add_option("--coordinator", config->coordinator,
                      "this machine's name or address on the hosts, where it is not found out");
  command
      ->add_option("--grace", config->grace,
                   "seconds that the others have when one fails or the chief ends, and between SIGTERM and "
                   "SIGKILL")
      ->transform(number_from(0, 1e6))
      ->capture_default_str();
  command->add_option("--logs", config->logs,
                      "a folder for what each process writes: rank-0.out, rank-0.err, ...; ps-0.out, ...");
  add_servers(*command, *config);
  command->add_option("program", config->command, "the program and its arguments, behind --")->required();
  command->footer(
      "Examples:\n  nyala launch -n 2 -- ./train --epochs 3\n"
      "  nyala launch --hosts a:2,b:2 --restarts 3 --logs logs -- ./train\n"
      "  nyala launch --ps 2 --workers 3 --chief -- ./train");
  command->callback([config, restarts] {
    if (config->ps > 0 && restarts->count() == 0) {
      config->restarts = kRestartsWithServers;
      config->restarts_chief = false;  // what it knows is lost unless its program saves it
    }
    launch(*config);
  });
}

}  // namespace nyala::tools
