#include <nyala/api/serving/serve_parameters.h>

#include <csignal>

#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/api/serving/row_optimizer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/signal_watch.h>
#include <nyala/files/base/folder.h>
#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/parameter_server/parameter_server.h>
#include <nyala/strategies/parameter_server/parameter_server_cluster.h>

namespace nyala {

using namespace nyala::detail;

bool is_parameter_server(const ServeConfig& config) {
  return choose_cluster_resolver(config.cluster_resolver).resolver->task_type() == "ps";
}

int serve_parameters(const ServeConfig& config) {
  const ChosenClusterResolver chosen = choose_cluster_resolver(config.cluster_resolver);
  const ParameterServerCluster cluster = parameter_server_cluster(*chosen.resolver);
  if (cluster.role != ParameterServerRole::server)
    throw StateError("serve_parameters: expected a process of job ps, this one is " +
                     in_quotes(chosen.resolver->task_type()) +
                     "; call it where is_parameter_server() is true");
  const std::string folder = config.snapshot_folder.empty()
                                 ? Environment().get("NYALA_SNAPSHOTS").value_or("")
                                 : config.snapshot_folder;
  if (!folder.empty()) make_folder("serve_parameters", "snapshots", folder);
  const std::string snapshot =
      folder.empty() ? "" : folder + "/ps-" + std::to_string(chosen.resolver->task_id()) + ".snapshot";
  const SignalWatch watch({SIGTERM});
  ParameterServer server(read_optimizer_rules(), snapshot, read_row_fillers());
  const auto listener = listen_parameters(cluster.own, control_security_of({}), server);
  log(LogChannel::info, "serving parameters on " + cluster.own.text());
  while (!server.wait_until_stopped(std::chrono::milliseconds(50))) {
    if (watch.signal() == 0) continue;
    server.keep();
    return 128 + SIGTERM;
  }
  return 0;
}

}  // namespace nyala
