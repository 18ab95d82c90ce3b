#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/parameter_server/partitioners.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

namespace detail {
class ParameterServerJob;
}

struct ParameterServerStrategyConfig {
  /// Which processes there are and which of them this is; nothing: as choose_cluster_resolver() finds out.
  ClusterResolverOption cluster_resolver = {};
  /// Into how many parts of rows variables are cut, which lie on servers in turns: FixedShardsPartitioner,
  /// MinSizePartitioner, MaxSizePartitioner or a function. None: each variable is whole.
  Partitioner variable_partitioner = {};
  /// Tables of Embedding with more bytes lie on the servers alone: their rows are pulled when a batch names
  /// them, and their gradients pushed by rows. 0: all of them.
  int64_t remote_rows_above = int64_t{64} << 20;
  /// Rows of such tables that a batch does not name stay as they are, whatever the optimizer does to weights
  /// without a gradient (momentum, decaying slots, weight decay), and are not brought up to date: less work,
  /// and other numbers than one device's. The same in all processes.
  bool lazy_rows = false;
  /// Names of a worker's devices, one replica each; empty: all accelerators, else the first CPU. They train
  /// one batch together.
  std::vector<std::string> devices = {};
  /// So long a process waits for the servers or the chief to be there, and for the answer to one question.
  std::chrono::milliseconds timeout = std::chrono::seconds(300);
  /// A worker that has not trained its batch in that time is thought lost: another one gets the batch.
  std::chrono::milliseconds lease = std::chrono::seconds(60);
  /// At most so many updates by other workers take effect between the values that a gradient is computed with
  /// and its own; -1: any number. Workers wait for each other where that needs it: with 0 they train in
  /// turns, with the numbers of one device. The chief's holds.
  int64_t staleness = -1;
  /// Workers train each batch together, a piece each, with the numbers of one device; loops by run() are
  /// those of all processes. The chief's holds.
  bool synchronous = false;
  /// Of synchronous training: so many workers may be late in each step; they compute pieces that others have,
  /// too, and whoever is first counts. The chief's holds.
  int backup_workers = 0;
  /// So often servers write snapshots while fit goes on, where they have a folder for them
  /// (serve_parameters): one that is lost and started again goes on from its own, and what came since is
  /// trained once more.
  std::chrono::milliseconds snapshot_interval = std::chrono::seconds(30);
};

/// Training with the variables on parameter servers, asynchronous where Config does not say otherwise. Every
/// process of the cluster runs the same program; those of job "ps" call serve_parameters() in place of the
/// rest, those of job "worker" train batches at their own pace, and the one of job "chief" hands batches out,
/// calls callbacks, evaluates and writes files. In fit a global batch is trained by one worker: it computes
/// gradients with the values that it has, the servers apply them when they come, and the worker goes on with
/// the values of then. So results differ from those of one device, and from run to run;
/// docs/parameter_server.md says how. With `synchronous` workers take pieces of the same batch, and results
/// are those of one device; a loop by distribute() and run() is run by the chief and all workers together.
///
/// Variables lie on servers in turns, in the order in which they are made. A worker that is lost costs its
/// batch, which another one trains; new ones may come at any time. Optimizers that look at all gradients of a
/// step (global_clipnorm, LossScaleOptimizer) need one server, those that look at whole variables (clipnorm,
/// Muon, ...) variables that are whole; fit throws InvalidArgumentError for others.
class ParameterServerStrategy : public Strategy {
 public:
  using Config = ParameterServerStrategyConfig;
  /// Throws InvalidArgumentError for staleness or backup_workers that do not go with `synchronous`, for a
  /// cluster without job ps, worker or chief, or an address that others
  /// could reach while nothing protects it (docs/multi_worker.md says what); StateError in a process of job
  /// ps, which serves instead; NotFoundError in a build without gRPC; what MirroredStrategy throws for
  /// devices. Servers are waited for when the first variable is made.
  explicit ParameterServerStrategy(const Config& config = {});
  /// Of a process that has its ways to the others already.
  explicit ParameterServerStrategy(std::shared_ptr<detail::ParameterServerJob> job,
                                   const std::vector<std::string>& devices = {});

  /// Whether this is the process that hands batches out.
  bool is_chief() const;
};

}  // namespace nyala
