#include <nyala/strategies/multi_worker.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/control/cluster_process_group.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replicas/replica_devices.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kName = "MultiWorkerMirroredStrategy";

InProcessOptions options_of(const MultiWorkerMirroredStrategyConfig& config) {
  check_communication_options(config.communication_options);
  const int64_t bytes = config.communication_options.bytes_per_pack;
  constexpr int64_t kBytes = 256 * 1024, kElement = sizeof(float);
  return {.name = kName,
          .devices = replica_devices(config.devices, kName),
          .share_weights = config.shared_weights == SharedWeights::automatic,
          .bucket_elements = std::max<int64_t>((bytes > 0 ? bytes : kBytes) / kElement, 1),
          .wire_dtype = config.communication_options.wire_dtype};
}

/// A program that sets no seed has another one in each process: one of them holds, and in all of them draws
/// begin anew, whatever was made before.
std::shared_ptr<StrategyNode> node_of(InProcessOptions options) {
  auto node = std::make_shared<InProcessStrategy>(std::move(options));
  if (node->link()->had_other_seeds()) set_random_seed(node->link()->seed());
  return node;
}

std::shared_ptr<StrategyNode> node_of(ProcessCommunicators processes,
                                      const MultiWorkerMirroredStrategyConfig& config) {
  InProcessOptions options = options_of(config);
  options.processes = std::move(processes);
  return node_of(std::move(options));
}

std::shared_ptr<StrategyNode> node_of(std::shared_ptr<ProcessGroup> group,
                                      const MultiWorkerMirroredStrategyConfig& config) {
  InProcessOptions options = options_of(config);
  if (!group) throw InvalidArgumentError(std::string(kName) + ": expected a ProcessGroup, received none");
  options.group = std::move(group);
  return node_of(std::move(options));
}

std::shared_ptr<StrategyNode> node_of(const MultiWorkerMirroredStrategyConfig& config) {
  const ChosenClusterResolver chosen = choose_cluster_resolver(config.cluster_resolver);
  std::shared_ptr<ProcessGroup> group =
      cluster_process_group(*chosen.resolver, config.communication_options, {},
                            {.min_workers = config.min_workers, .rejoin_timeout = config.rejoin_timeout});
  if (!group) return std::make_shared<InProcessStrategy>(options_of(config));
  return node_of(std::move(group), config);
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(const Config& config) : Strategy(node_of(config)) {}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(ProcessCommunicators processes, Config config)
    : Strategy(node_of(std::move(processes), config)) {}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(std::shared_ptr<ProcessGroup> group, Config config)
    : Strategy(node_of(std::move(group), config)) {}

int MultiWorkerMirroredStrategy::rank() const {
  const ProcessExchange* const processes = node().processes();
  return processes ? processes->rank() : 0;
}

int MultiWorkerMirroredStrategy::num_processes() const {
  const ProcessExchange* const processes = node().processes();
  return processes ? processes->size() : 1;
}

}  // namespace nyala
