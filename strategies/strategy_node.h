#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/backend/parameters/update_rule.h>
#include <nyala/strategies/cross_device/cross_device_ops.h>
#include <nyala/strategies/distributed_dataset.h>
#include <nyala/strategies/per_replica.h>
#include <nyala/strategies/reduce_axes.h>
#include <nyala/strategies/replica_context.h>
#include <nyala/strategies/rows/row_split.h>
#include <nyala/strategies/replicas/step_profiler.h>

namespace nyala {

class ProcessGenerations;

namespace detail {
class ParameterServerJob;
}

/// Gradients that a program made itself, with what applies them.
struct GradientUpdate {
  /// Names the caller in errors; on all replicas the same one.
  const void* optimizer = nullptr;
  /// One per variable; an undefined one counts as zeros.
  const Tensors& gradients;
  const Variables& variables;
  /// Called once for all replicas with the variables for which some replica has a gradient.
  std::function<UpdateRule&(const Variables&)> rule;
};

/// Where replicas live and how a step's gradients take effect. What a Strategy handle shares.
/// Steps of different models may come from different threads: they take turns. A step is one run() with a
/// rule, then update() with the same rule; a step inside a step throws StateError.
class StrategyNode : public std::enable_shared_from_this<StrategyNode> {
 public:
  virtual ~StrategyNode() = default;

  virtual std::string name() const = 0;
  /// All replicas, in whatever process they are.
  virtual int num_replicas_in_sync() const = 0;
  /// Those of this process. They are counted from 0 by their local index, and have consecutive ids among all.
  virtual int num_local_replicas() const { return num_replicas_in_sync(); }
  int replica_id(int local_index) const { return first_replica() + local_index; }
  /// What asks the other processes between steps; null: there are none.
  virtual ProcessExchange* processes() { return nullptr; }
  /// Those processes, one generation after another; null: the first failure is the end.
  virtual ProcessGenerations* generations() { return nullptr; }
  /// Where the variables lie on servers that workers train at their own pace; null: they lie here.
  virtual detail::ParameterServerJob* parameter_server_job() { return nullptr; }
  /// Where processes meet in loops of the program's own alone, processes() is there as long as what this
  /// returns lives; null where there is nothing to begin. For verbs outside of replicas.
  virtual std::shared_ptr<void> meet_in_loop() { return nullptr; }
  /// A walk over distributed batches has ended, or what it changed is needed here now.
  virtual void end_pass() {}
  /// Text for people: replicas, devices, how gradients are reduced.
  virtual std::string describe() const = 0;
  /// True for what programs without a strategy run on.
  virtual bool is_default() const { return false; }

  /// Verb 1, create_variables: variables made in scope() come from here.
  virtual ParameterStore& store() = 0;
  /// Where a replica of this process computes.
  virtual Device device(int local_index) { return store().device(local_index); }

  /// Verb 2, distribute: the rows of a global batch that belong to a replica. G rows are cut into N
  /// consecutive pieces whose sizes differ by at most one, larger first; a replica beyond the rows gets none
  /// and still takes part. Device weights make pieces in their proportion (split_rows()).
  virtual RowRange rows_of(int replica_id, int64_t global_rows) const;
  /// The rows of a whole batch that belong to a replica of this process, on its device (no copy among CPU
  /// devices).
  Tensor shard(const Tensor& batch, int local_index);
  /// `value` on the device of a replica of this process (no copy among CPU devices).
  Tensor place(const Tensor& value, int local_index);
  /// A whole batch, cut for the replicas of this process.
  DistributedBatch distribute(const Batch& batch);

  /// Verb 3, run: fn once per replica of this process, at the same time; returns when all have. A replica
  /// that throws cancels the others' collectives; the first error is thrown, with replica and device in its
  /// text. With a rule the replicas' sinks take the gradients of the rule's variables.
  virtual void run(const std::function<void(Replica&)>& fn, UpdateRule* rule = nullptr) = 0;

  /// Verb 4, update: applies the rule to the reduced gradients of the last run() with it. Throws StateError
  /// without one.
  virtual void update(UpdateRule& rule) = 0;
  /// Verb 4 for gradients made by hand. Inside run() all replicas come: their gradients are summed and
  /// applied once, and all go on with the new weights. Outside the gradients are those of the whole batch.
  /// Throws InvalidArgumentError where no replica has a gradient, or where variables differ.
  virtual void apply_gradients(const GradientUpdate& update) = 0;

  /// Verb 5, reduce and gather: one value on the first replica's device from one per replica (replica order).
  /// `values` are those of this process; those of others count, too.
  /// With axes each value is first reduced along these; a mean is then that of all elements, exact also where
  /// replicas hold different numbers of them.
  Tensor reduce(ReduceOp op, const PerReplica<>& values, const ReduceAxes& axes = {});
  /// The same of a number of each replica.
  double reduce(ReduceOp op, std::span<const double> numbers);
  /// Values concatenated along `axis` in replica order. Throws InvalidArgumentError for scalars, ShapeError
  /// for values that differ in rank or in another size.
  Tensor gather(const PerReplica<>& values, int axis = 0);
  /// How values of several devices are brought together.
  virtual const CrossDeviceOps& cross_device_ops() const = 0;

  /// Measures where the time of steps goes; off until asked for.
  StepProfiler& profiler() { return profiler_; }

 protected:
  /// The id of this process' first replica.
  virtual int first_replica() const { return 0; }

  StepProfiler profiler_;

 private:
  Tensor mean_along(const PerReplica<>& values, const ReduceAxes& axes, const std::string& what);
};

namespace detail {

/// Shared ownership of a node, or a plain reference to one that nobody shares.
std::shared_ptr<StrategyNode> handle_on(StrategyNode& node);

/// The strategy that made a variable. Throws StateError for one that is gone.
std::shared_ptr<StrategyNode> strategy_of(const Variable& variable);

}  // namespace detail

}  // namespace nyala
