#include <nyala/strategies/multi_worker.h>

#include <algorithm>
#include <bit>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replica_devices.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kName = "MultiWorkerMirroredStrategy";

/// A program that sets no seed has another one in each process: that of rank 0 holds.
void agree_on_seed(ProcessExchange& processes) {
  const int64_t own = std::bit_cast<int64_t>(global_seed());
  std::vector<int64_t> all(static_cast<size_t>(processes.size()));
  processes.all_numbers({&own, 1}, all, "the seed");
  if (std::any_of(all.begin(), all.end(), [&](int64_t other) { return other != all[0]; }))
    set_random_seed(std::bit_cast<uint64_t>(all[0]));
}

std::shared_ptr<StrategyNode> node_of(ProcessCommunicators processes,
                                      const MultiWorkerMirroredStrategyConfig& config) {
  auto node = std::make_shared<InProcessStrategy>(
      InProcessOptions{.name = kName,
                       .devices = replica_devices(config.devices, kName),
                       .share_weights = config.shared_weights == SharedWeights::automatic,
                       .bucket_elements = config.bucket_elements,
                       .processes = std::move(processes)});
  agree_on_seed(*node->processes());
  return node;
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(ProcessCommunicators processes, Config config)
    : Strategy(node_of(std::move(processes), config)) {}

int MultiWorkerMirroredStrategy::rank() const { return node().processes()->rank(); }
int MultiWorkerMirroredStrategy::num_processes() const { return node().processes()->size(); }

}  // namespace nyala
