#pragma once

#include <nyala/backend/autograd/gradient_sink.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/strategies/nest.h>
#include <nyala/strategies/reduce_axes.h>

namespace nyala {

class Strategy;
class StrategyNode;

/// One replica inside Strategy::run, on whose thread it is used and while run lasts; also what
/// get_replica_context() returns to programs that use no strategy: replica 0 of 1.
/// What it offers is called by all replicas alike; one that stays away breaks the step for all with an error
/// that names it. Its functions throw StateError on another thread or after the run.
struct ReplicaContext {
  /// Its place among all replicas, in whatever process they are.
  int id = 0;
  int num_replicas = 1;
  /// Its place among those of this process: of PerReplica values, copies of variables and threads.
  int local_index = 0;
  Device device = {};
  /// What layers use to speak with the other replicas; null where there is only one.
  Collectives* context = nullptr;
  /// Takes the gradients of a step that has an update rule.
  GradientSink* gradients = nullptr;
  /// Kept from step to step, so that a warm step allocates nothing for it.
  Tape* tape = nullptr;
  StrategyNode* node = nullptr;

  int replica_id_in_sync_group() const { return id; }
  int num_replicas_in_sync() const { return num_replicas; }
  Strategy strategy() const;

  /// The sum or mean over the replicas of each tensor of a nest (strategies/nest.h): the same on all of them.
  /// Differentiable: the gradient is the same reduction of the gradients.
  template <class Nest>
  auto all_reduce(ReduceOpName op, const Nest& values) const {
    check_is_current("all_reduce");
    return detail::nest::map(values, [&](const Tensor& value) {
      return ops::detail::replica_all_reduce(value, context, op.op == ReduceOp::mean);
    });
  }

  /// The replicas' tensors behind each other along `axis`, in replica order, for each tensor of a nest. Their
  /// sizes along `axis` may differ. Differentiable. Throws InvalidArgumentError for scalars, ShapeError for
  /// other sizes that differ.
  template <class Nest>
  auto all_gather(const Nest& values, int axis = 0) const {
    check_is_current("all_gather");
    return detail::nest::map(
        values, [&](const Tensor& value) { return ops::detail::replica_all_gather(value, context, axis); });
  }

  /// The replicas meet, fn(strategy, args...) runs once in the cross-replica context, and all go on with its
  /// result; of a PerReplica result each takes its own. Tensors, numbers and nests with tensors among the
  /// arguments arrive as PerReplica (untracked); all others must be equal on all replicas and arrive as they
  /// are. Throws InvalidArgumentError where they are not.
  template <class Function, class... Args>
  auto merge_call(Function&& fn, const Args&... args) const;

  /// Runs fn(copy, args...) on this replica's copy of a variable, in an update context; once for all replicas
  /// where they share its bytes (then every replica has to come). The copy is written in place.
  template <class Function, class... Args>
  void update(const Variable& variable, Function&& fn, const Args&... args) const;

  /// Throws StateError unless this is the replica that runs on this thread.
  void check_is_current(const char* what) const;
};

/// The name that short programs like better.
using Replica = ReplicaContext;

}  // namespace nyala
