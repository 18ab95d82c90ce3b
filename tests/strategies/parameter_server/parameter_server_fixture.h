#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nyala/strategies/parameter_server/parameter_server.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/parameter_server_strategy.h>

namespace nyala {

/// A cluster in one process: servers and the chief's coordinator are services that threads call.
class LocalCluster {
 public:
  LocalCluster(int num_servers, const ServerRuleReader& read_rule, const RowFillerReader& read_filler = {}) {
    for (int i = 0; i < num_servers; ++i)
      servers.push_back(std::make_shared<detail::ParameterServer>(read_rule, "", read_filler));
  }

  std::unique_ptr<detail::RemoteParameters> parameters() const {
    std::vector<std::unique_ptr<detail::ParameterConnection>> ways;
    for (const auto& server : servers) ways.push_back(detail::connect_locally(server));
    return std::make_unique<detail::RemoteParameters>(
        std::move(ways), detail::RemoteParameters::Options{std::chrono::seconds(20), partitioner,
                                                           remote_rows_above, lazy_rows});
  }
  ParameterServerStrategy chief() {
    auto made =
        std::make_unique<detail::Coordinator>(detail::CoordinatorOptions{.lease = lease,
                                                                         .seed = 7,
                                                                         .staleness = staleness,
                                                                         .is_synchronous = synchronous,
                                                                         .backup_workers = backup_workers});
    coordinator = std::shared_ptr<detail::Coordinator>(made.get(), [](detail::Coordinator*) {});
    auto job = std::make_shared<detail::ParameterServerJob>(
        parameters(), std::move(made), nullptr,
        detail::ParameterServerJob::Times{std::chrono::seconds(20), snapshots});
    job->place.workers = workers;
    return ParameterServerStrategy(std::move(job), devices);
  }
  /// After chief().
  ParameterServerStrategy worker(int index = 0) const {
    auto job = std::make_shared<detail::ParameterServerJob>(
        parameters(), std::make_unique<detail::CoordinatorClient>(detail::connect_locally(coordinator),
                                                                  std::chrono::seconds(20)));
    job->place = {index, workers};
    return ParameterServerStrategy(std::move(job), devices);
  }

  Partitioner partitioner = {};
  int64_t remote_rows_above = int64_t{64} << 20;
  bool lazy_rows = false;
  int64_t staleness = -1;
  bool synchronous = false;
  int backup_workers = 0;
  int workers = 1;
  std::vector<std::string> devices = {};  // of each process
  std::chrono::milliseconds lease = std::chrono::seconds(20);
  std::chrono::milliseconds snapshots = std::chrono::hours(1);
  std::vector<std::shared_ptr<detail::ParameterServer>> servers;
  std::shared_ptr<detail::Coordinator> coordinator;
};

}  // namespace nyala
