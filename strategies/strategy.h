#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/backend/parameters/update_rule.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/distributed_dataset.h>
#include <nyala/strategies/replica.h>

namespace nyala {

enum class ReduceOp { sum, mean };

/// Rows [first, first + count) of a global batch.
struct RowRange {
  int64_t first = 0;
  int64_t count = 0;
};

/// One value per replica.
using PerReplica = std::vector<Tensor>;

/// Where replicas live and how a step's gradients take effect. What a Strategy handle shares.
/// Steps of different models may come from different threads: they take turns. A step is one run() with a
/// rule, then update() with the same rule; a step inside a step throws StateError.
class StrategyNode {
 public:
  virtual ~StrategyNode() = default;

  virtual std::string name() const = 0;
  virtual int num_replicas_in_sync() const = 0;
  /// Text for people: replicas, devices, how gradients are reduced.
  virtual std::string describe() const = 0;

  /// Verb 1, create_variables: variables made in scope() come from here.
  virtual ParameterStore& store() = 0;

  /// Verb 2, distribute: the rows of a global batch that belong to a replica. G rows are cut into N
  /// consecutive pieces whose sizes differ by at most one, larger first; a replica beyond the rows gets none
  /// and still takes part.
  RowRange rows_of(int replica, int64_t global_rows) const;
  /// The rows of `batch` that belong to `replica`, on its device (no copy among CPU devices).
  Tensor shard(const Tensor& batch, int replica);
  /// A whole batch, cut.
  DistributedBatch distribute(const Batch& batch);

  /// Verb 3, run: fn once per replica, at the same time; returns when all have. A replica that throws cancels
  /// the others' collectives; the first error is thrown, with replica and device in its text.
  /// With a rule the replicas' sinks take the gradients of the rule's variables.
  virtual void run(const std::function<void(Replica&)>& fn, UpdateRule* rule = nullptr) = 0;

  /// Verb 4, update: applies the rule to the reduced gradients of the last run() with it. Throws StateError
  /// without one.
  virtual void update(UpdateRule& rule) = 0;

  /// Verb 5, reduce and gather: one host-side value from one per replica (replica order).
  Tensor reduce(ReduceOp op, const PerReplica& values);
  /// Values stacked along `axis` in replica order, on the first replica's device.
  Tensor gather(const PerReplica& values, int axis = 0);
};

/// Keeps a strategy's scope open: variables made on this thread belong to it.
class StrategyScope {
 public:
  explicit StrategyScope(std::shared_ptr<StrategyNode> node);
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  std::shared_ptr<StrategyNode> node_;
  ScopedValue<VariableCreator*> creator_;
  ScopedValue<std::shared_ptr<void>> strategy_;
};

/// A handle on a strategy; copies name the same strategy.
class Strategy {
 public:
  explicit Strategy(std::shared_ptr<StrategyNode> node) : node_(std::move(node)) {}

  /// `auto scope = strategy.scope();`: open until the guard ends. Throws StateError inside another strategy's
  /// scope.
  [[nodiscard]] StrategyScope scope() const { return StrategyScope(node_); }
  /// `auto model = strategy.scope([&] { ...; return model; });`
  template <class Function>
  decltype(auto) scope(Function&& function) const {
    const StrategyScope open(node_);
    return function();
  }

  int num_replicas_in_sync() const { return node_->num_replicas_in_sync(); }
  std::string describe() const { return node_->describe(); }

  /// Runs `fn` on every replica and collects what it returns (a Tensor), or nothing.
  template <class Function>
  auto run(Function&& fn) const {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, Replica&>>) {
      node_->run([&](Replica& replica) { fn(replica); });
    } else {
      PerReplica results(static_cast<size_t>(num_replicas_in_sync()));
      node_->run([&](Replica& replica) { results[static_cast<size_t>(replica.id)] = fn(replica); });
      return results;
    }
  }
  /// Runs `fn` on every replica with its part of a batch: fn(part) or fn(replica, part).
  template <class Function>
  auto run(Function&& fn, const DistributedBatch& batch) const {
    return run([&](Replica& replica) {
      const Batch& part = batch.parts.at(static_cast<size_t>(replica.id));
      if constexpr (std::is_invocable_v<Function&, Replica&, const Batch&>) return fn(replica, part);
      else return fn(part);
    });
  }
  /// The batches of `dataset`, each cut into one part per replica.
  DistributedDataset distribute(const Dataset& dataset) const { return {node_, dataset}; }
  DistributedBatch distribute(const Batch& batch) const { return node_->distribute(batch); }

  Tensor reduce(ReduceOp op, const PerReplica& values) const { return node_->reduce(op, values); }
  Tensor gather(const PerReplica& values, int axis = 0) const { return node_->gather(values, axis); }

  StrategyNode& node() const { return *node_; }
  const std::shared_ptr<StrategyNode>& shared() const { return node_; }

 protected:
  std::shared_ptr<StrategyNode> node_;
};

/// The strategy whose scope is open on this thread, else the default: one replica on the current device.
std::shared_ptr<StrategyNode> current_strategy();
bool has_strategy();

}  // namespace nyala
