#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/communicators/communication_options.h>
#include <nyala/strategies/communicators/process_group.h>
#include <nyala/strategies/mirrored.h>

namespace nyala {

struct MultiWorkerMirroredStrategyConfig {
  /// Which processes there are and which of them this is; nothing: as choose_cluster_resolver() finds out.
  ClusterResolverOption cluster_resolver = {};
  CommunicationOptions communication_options = {};
  /// Names of this process' devices, one replica each; empty: all accelerators, else the first CPU. As many
  /// as the process likes.
  std::vector<std::string> devices = {};
  /// As MirroredStrategy's, of the replicas of this process.
  SharedWeights shared_weights = SharedWeights::automatic;
  /// Where `nyala launch` does not run the processes: so few of them go on when others are lost, the first
  /// one, too, provided that they are a majority of those before, or all others are known to have ended. 0:
  /// what NYALA_MIN_WORKERS says, else all are needed. Under `nyala launch` its --min-workers holds.
  int min_workers = 0;
  /// So long they wait for the others before they go on without them, and half of the timeout at most. With
  /// min_workers 0: NYALA_REJOIN_TIMEOUT, in seconds.
  std::chrono::milliseconds rejoin_timeout = std::chrono::seconds(30);
};

/// MirroredStrategy with replicas in several processes that run the same program: the numbers of one device
/// at the same global batch. Every process is given the same data and takes its rows of each batch;
/// `batch_size` is the global one. Whatever concerns the replicas of all processes (making variables,
/// building and compiling models, fit, evaluate, predict, reduce, gather) is called by all of them, in the
/// same order. Replicas are numbered through the processes in the order of ranks.
///
/// A process that fails ends the step of all: CommunicationError says who and why. Of a strategy that was
/// given its communicators, and where nobody starts lost processes again, that is the end. Else it goes on
/// with the processes of the next generation: fit does so by itself, at the step that the most advanced
/// process had reached; everything else throws.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  using Config = MultiWorkerMirroredStrategyConfig;
  /// Waits for the other processes of the cluster that the resolver names; a process that is the only one
  /// trains alone. They meet at a control plane, which `nyala launch` or the chief runs (at its address), and
  /// hear by it of each other's failures. Throws CommunicationError where they do not come in time or do not
  /// fit together, what the resolver throws, InvalidArgumentError where others could reach the processes and
  /// nothing protects them (docs/multi_worker.md says what), NotFoundError in a build without gRPC, and what
  /// MirroredStrategy throws for devices.
  explicit MultiWorkerMirroredStrategy(const Config& config = {});
  /// Among processes that have their communicators already (processes_on_one_host()): resolver, timeout and
  /// implementation of the Config are not asked.
  explicit MultiWorkerMirroredStrategy(ProcessCommunicators processes, Config config = {});
  /// The same with the processes of `group`, and with those of its next generation where one is lost.
  explicit MultiWorkerMirroredStrategy(std::shared_ptr<ProcessGroup> group, Config config = {});

  /// This process' number among all, from 0.
  int rank() const;
  int num_processes() const;
  /// Whether this is the process that writes files: rank 0.
  bool is_chief() const { return rank() == 0; }
};

}  // namespace nyala
