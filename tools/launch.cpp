#include <memory>

#include <nyala/strategies/cluster/environment.h>
#include <nyala/tools/command.h>
#include <nyala/tools/launch/launcher.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

namespace {

void launch(const LaunchConfig& config) {
  if (config.processes == 0 && config.hosts.empty())
    throw InvalidArgumentError("launch: expected -n, how many processes to start, or --hosts");
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

}  // namespace

void add_launch(CLI::App& app) {
  const auto config = std::make_shared<LaunchConfig>();
  CLI::App* command =
      app.add_subcommand("launch", "Starts a program as several processes that form a cluster.");
  command->add_option("-n,--processes,--max-workers", config->processes, "how many")
      ->transform(whole_number(1, 4096));
  command->add_option("--hosts", config->hosts, "hosts and how many processes each takes: a:2,b:2");
  config->ssh = "ssh -o BatchMode=yes {host} {command}";
  command->add_option("--ssh", config->ssh, "how a command is run on another host")->capture_default_str();
  command
      ->add_option("--restarts", config->restarts,
                   "how many times processes that fail are started again, in all")
      ->transform(whole_number(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--min-workers", config->min_workers,
                   "so few go on without those that failed; without it all are needed")
      ->transform(whole_number(1, 4096));
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
                   "seconds that the others have when one fails, and between SIGTERM and SIGKILL")
      ->transform(number_from(0, 1e6))
      ->capture_default_str();
  command->add_option("--logs", config->logs,
                      "a folder for what each process writes: rank-0.out, rank-0.err, ...");
  command->add_option("program", config->command, "the program and its arguments, behind --")->required();
  command->footer(
      "Examples:\n  nyala launch -n 2 -- ./train --epochs 3\n"
      "  nyala launch --hosts a:2,b:2 --restarts 3 --logs logs -- ./train");
  command->callback([config] { launch(*config); });
}

}  // namespace nyala::tools
