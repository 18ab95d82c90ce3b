#include <nyala/strategies/multi_worker.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replica_devices.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kName = "MultiWorkerMirroredStrategy";

InProcessOptions options_of(const MultiWorkerMirroredStrategyConfig& config) {
  return {.name = kName,
          .devices = replica_devices(config.devices, kName),
          .share_weights = config.shared_weights == SharedWeights::automatic,
          .bucket_elements = config.bucket_elements};
}

/// A program that sets no seed has another one in each process: one of them holds.
std::shared_ptr<StrategyNode> node_of(InProcessOptions options) {
  auto node = std::make_shared<InProcessStrategy>(std::move(options));
  const uint64_t seed = node->processes()->seed();
  if (seed != global_seed()) set_random_seed(seed);
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

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(ProcessCommunicators processes, Config config)
    : Strategy(node_of(std::move(processes), config)) {}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(std::shared_ptr<ProcessGroup> group, Config config)
    : Strategy(node_of(std::move(group), config)) {}

int MultiWorkerMirroredStrategy::rank() const { return node().processes()->rank(); }
int MultiWorkerMirroredStrategy::num_processes() const { return node().processes()->size(); }

}  // namespace nyala
