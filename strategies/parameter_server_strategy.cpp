#include <nyala/strategies/parameter_server_strategy.h>

#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/parameter_server/parameter_server_cluster.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/replicas/replica_devices.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kStrategyName = "ParameterServerStrategy";

void check_modes(const ParameterServerStrategyConfig& config) {
  const std::string who = kStrategyName;
  if (config.backup_workers < 0)
    throw InvalidArgumentError(who + ": expected backup_workers of 0 or more, received " +
                               std::to_string(config.backup_workers));
  if (config.synchronous && config.staleness >= 0)
    throw InvalidArgumentError(who + ": synchronous training has no staleness, received a bound of " +
                               std::to_string(config.staleness) + "; leave one of them out");
  if (!config.synchronous && config.backup_workers > 0)
    throw InvalidArgumentError(who + ": backup_workers are for synchronous training; set synchronous, too");
  if (config.staleness < -1)
    throw InvalidArgumentError(who + ": expected staleness of 0 or more, or -1 for any, received " +
                               std::to_string(config.staleness));
  for (const auto& [name, time] : {std::pair("timeout", config.timeout), std::pair("lease", config.lease),
                                   std::pair("snapshot_interval", config.snapshot_interval)})
    if (time.count() <= 0)
      throw InvalidArgumentError(who + ": expected a " + name + " above 0, received " +
                                 std::to_string(time.count()) + " ms");
}

/// With a worker for each spare one nobody would be left whose piece counts.
void check_backup_workers(const ParameterServerStrategyConfig& config, int workers) {
  if (config.backup_workers > 0 && config.backup_workers >= workers)
    throw InvalidArgumentError(std::string(kStrategyName) + ": expected fewer backup_workers than the " +
                               std::to_string(workers) + " workers of the cluster, received " +
                               std::to_string(config.backup_workers));
}

std::shared_ptr<ParameterServerJob> job_of(const ParameterServerStrategyConfig& config) {
  check_modes(config);
  const ChosenClusterResolver chosen = choose_cluster_resolver(config.cluster_resolver);
  const ParameterServerCluster cluster = parameter_server_cluster(*chosen.resolver);
  if (cluster.role == ParameterServerRole::server)
    throw StateError(
        std::string(kStrategyName) +
        ": this process is a parameter server; call serve_parameters() in place of the rest of the "
        "program: if (is_parameter_server()) return serve_parameters();");
  check_backup_workers(config, cluster.workers);
  const ControlSecurity security = control_security_of({});
  std::vector<std::unique_ptr<ParameterConnection>> servers;
  for (const HostPort& server : cluster.servers) servers.push_back(connect_parameters(server, security));
  auto parameters = std::make_unique<RemoteParameters>(
      std::move(servers), RemoteParameters::Options{config.timeout, config.variable_partitioner,
                                                    config.remote_rows_above, config.lazy_rows});
  if (cluster.role == ParameterServerRole::worker) {
    auto client = std::make_unique<CoordinatorClient>(
        connect_parameters(cluster.chief, security, "the chief"), config.timeout);
    if (client->seed() != global_seed()) set_random_seed(client->seed());
    auto job = std::make_shared<ParameterServerJob>(std::move(parameters), std::move(client));
    job->place = {cluster.worker, cluster.workers};
    return job;
  }
  auto coordinator =
      std::make_unique<Coordinator>(CoordinatorOptions{.lease = config.lease,
                                                       .seed = global_seed(),
                                                       .staleness = config.staleness,
                                                       .is_synchronous = config.synchronous,
                                                       .backup_workers = config.backup_workers});
  auto listener = listen_parameters(cluster.chief, security, *coordinator);
  auto job = std::make_shared<ParameterServerJob>(
      std::move(parameters), std::move(coordinator), std::move(listener),
      ParameterServerJob::Times{config.timeout, config.snapshot_interval});
  job->place.workers = cluster.workers;
  return job;
}

std::shared_ptr<StrategyNode> node_of(std::shared_ptr<ParameterServerJob> job,
                                      const std::vector<std::string>& devices) {
  InProcessOptions options{.name = kStrategyName, .devices = replica_devices(devices, kStrategyName)};
  options.parameter_servers = std::move(job);
  return std::make_shared<InProcessStrategy>(std::move(options));
}

}  // namespace

ParameterServerStrategy::ParameterServerStrategy(const Config& config)
    : Strategy(node_of(job_of(config), config.devices)) {}

ParameterServerStrategy::ParameterServerStrategy(std::shared_ptr<ParameterServerJob> job,
                                                 const std::vector<std::string>& devices)
    : Strategy(node_of(std::move(job), devices)) {}

bool ParameterServerStrategy::is_chief() const { return node().parameter_server_job()->is_chief(); }

}  // namespace nyala
