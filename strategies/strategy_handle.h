#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <nyala/backend/core/held.h>
#include <nyala/strategies/adoptable.h>
#include <nyala/strategies/contexts.h>
#include <nyala/strategies/distributed_dataset.h>
#include <nyala/strategies/rows/input_context.h>
#include <nyala/strategies/nest.h>
#include <nyala/strategies/per_replica.h>
#include <nyala/strategies/reduce_axes.h>
#include <nyala/strategies/replica_context.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

/// A handle on a strategy; copies name the same strategy. Its verbs belong outside of run(): inside a replica
/// they throw StateError naming what to use there (ReplicaContext, merge_call).
class Strategy {
 public:
  explicit Strategy(std::shared_ptr<StrategyNode> node) : node_(std::move(node)) {}

  /// `auto scope = strategy.scope();`: open until the guard ends. Throws StateError inside another strategy's
  /// scope.
  [[nodiscard]] StrategyScope scope() const { return StrategyScope(checked()); }
  /// `auto model = strategy.scope([&] { ...; return model; });`
  template <class Function>
  decltype(auto) scope(Function&& function) const {
    const StrategyScope open(checked());
    return function();
  }

  int num_replicas_in_sync() const { return node().num_replicas_in_sync(); }
  /// Those of this process: as many parts has a PerReplica.
  int num_local_replicas() const { return node().num_local_replicas(); }
  std::string describe() const { return node().describe(); }
  /// Begins (or ends) measuring where the time of steps goes: describe() then tells it, too.
  void profile(bool on = true) const { node().profiler().set_enabled(on); }
  /// Seconds per step, the mean over the steps since profile().
  StepTimes step_times() const { return node().profiler().times(); }

  /// Calls fn(args...) or fn(replica, args...) on every replica at the same time. Of arguments that are
  /// PerReplica, Mirrored or DistributedBatch, also inside nests (strategies/nest.h), each replica gets its
  /// part; others are passed as they are. What fn returns comes back with PerReplica in place of every tensor
  /// (and of everything else that is no nest); lists and dictionaries with tensors have the same sizes and
  /// keys on all replicas. A replica that throws ends the others; the first error is thrown, with replica and
  /// device in its text (of classes that are not Nyala's: in error_place()), and the strategy can go on.
  template <class Function, class... Args>
  auto run(Function&& fn, const Args&... args) const;

  /// The sum or mean over the replicas of each PerReplica of a nest, on the first replica's device. With axes
  /// each replica's value is reduced along these first; means are those of all elements. A Mirrored value
  /// counts once per replica, a plain tensor has no sum over several replicas (InvalidArgumentError) and is
  /// its own mean. Numbers give a double.
  template <class Nest>
  auto reduce(ReduceOpName op, const Nest& values, const ReduceAxes& axes = {}) const;

  /// The replicas' values of each PerReplica of a nest concatenated along `axis`, in replica order. Throws
  /// InvalidArgumentError for scalars, ShapeError where other sizes differ.
  template <class Nest>
  auto gather(const Nest& values, int axis = 0) const;

  /// What each replica sees of a value or a nest: one entry per replica, or one where nothing is distributed.
  template <class Nest>
  auto local_results(const Nest& values) const;

  /// The batches of `dataset`, each cut into one part per replica.
  DistributedDataset distribute(const Dataset& dataset) const { return {checked(), dataset}; }
  DistributedBatch distribute(const Batch& batch) const { return node().distribute(batch); }
  /// `make` is told how many replicas there are and returns a Dataset whose batches go to the replicas one
  /// after the other, as they are: a step takes one per replica.
  DistributedDataset distribute_datasets_from_function(
      const std::function<Dataset(const InputContext&)>& make) const;
  /// make(ValueContext) for each replica; tensors are put on its device.
  template <class Function>
  auto distribute_values_from_function(Function&& make) const;
  /// A copy of `value` on every replica's device.
  Mirrored<> mirror(const Tensor& value) const;

  /// Calls fn(copy, args...) for each copy of a variable, in an update context; args are opened as by run().
  /// The copy is a tensor with the variable's bytes, to be written in place. Throws StateError for a variable
  /// of another strategy.
  template <class Function, class... Args>
  void update(const Variable& variable, Function&& fn, const Args&... args) const;

  /// Moves a model, or anything else that owns variables, into this strategy and returns it: one that was
  /// made outside any scope or under another strategy. Handles on its variables stay valid, values and
  /// optimizer state are kept; it goes on training as if it had been made here. Nothing of it may run
  /// meanwhile. Models that share layers move one by one, in any order: one of which a part has moved with
  /// another throws StateError when it is to run, until it has been adopted, too.
  template <class Owner>
  Owner adopt(const Owner& owner) const {
    detail::check_cross_replica("adopt()");
    if constexpr (requires { owner.model_node(); })
      detail::move_into(owner.model_node(), checked());
    else
      detail::move_into(owner.node(), checked());
    return owner;
  }

  /// Throws StateError for an empty handle.
  StrategyNode& node() const { return detail::held(node_, "Strategy", "make one: MirroredStrategy()"); }
  const std::shared_ptr<StrategyNode>& shared() const { return node_; }
  friend bool operator==(const Strategy& a, const Strategy& b) { return a.node_ == b.node_; }

 protected:
  std::shared_ptr<StrategyNode> node_;

 private:
  const std::shared_ptr<StrategyNode>& checked() const {
    node();
    return node_;
  }
  /// The indices of the copies of a variable that have bytes of their own.
  std::vector<int> copies_of(const Variable& variable) const;
  Tensor reduce_plain(ReduceOp op, const Tensor& value, const ReduceAxes& axes) const;
};

/// The strategy of this thread's context: the one whose scope or run is open, else the default.
Strategy get_strategy();

}  // namespace nyala
