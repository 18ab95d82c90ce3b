// Verbs that are the same for every strategy: rows go to replicas in consecutive pieces, and what replicas
// hold is reduced or gathered on this process' devices first, then among processes.
#include <nyala/strategies/strategy_node.h>

#include <map>
#include <mutex>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/cross_device/mean_of_sum.h>
#include <nyala/strategies/rows/equal_piece.h>
#include <nyala/strategies/one_device.h>
#include <nyala/strategies/store_registration.h>

namespace nyala {

using namespace nyala::detail;

namespace {

struct Registry {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::map<const SegmentOwner*, StrategyNode*> strategies;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

void check_values(const char* what, const PerReplica<>& values, int replicas) {
  if (values.empty())
    throw InvalidArgumentError(std::string(what) + ": expected one value per replica, received none");
  if (values.size() != static_cast<size_t>(replicas))
    throw InvalidArgumentError(std::string(what) + ": expected one value for each of " +
                               std::to_string(replicas) + " replicas, received " +
                               std::to_string(values.size()));
}

void check_gathered(const PerReplica<>& values, int axis) {
  const Shape& first = values[0].shape();
  for (const Tensor& value : values) {
    if (value.rank() == 0)
      throw InvalidArgumentError("gather: scalars have no axis to gather along; reshape them to (1,) first");
    const bool alike = value.rank() == first.rank() && value.shape().with(axis, 0) == first.with(axis, 0);
    if (!alike)
      throw ShapeError("gather: expected values of one rank that are equal but for axis " +
                       std::to_string(axis) + ", received " + first.to_string() + " and " +
                       value.shape().to_string());
  }
}

int64_t count_along(const Shape& shape, uint32_t mask) {
  int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (mask & 1u << axis) count *= shape[axis];
  return count;
}

}  // namespace

StoreRegistration::StoreRegistration(ParameterStore& store, StrategyNode& node) : store_(&store) {
  std::lock_guard lock(registry().mutex);
  registry().strategies[store_] = &node;
}

StoreRegistration::~StoreRegistration() {
  std::lock_guard lock(registry().mutex);
  registry().strategies.erase(store_);
}

std::shared_ptr<StrategyNode> detail::handle_on(StrategyNode& node) {
  auto shared = node.weak_from_this().lock();
  return shared ? shared : std::shared_ptr<StrategyNode>(std::shared_ptr<void>(), &node);
}

std::shared_ptr<StrategyNode> detail::strategy_of(const Variable& variable) {
  const std::shared_ptr<SegmentOwner> owner = variable.node().owner.lock();
  // Variables may be there before anybody asked for the strategy that they belong to.
  if (variable.node().plain) return default_strategy(variable.value(0).device());
  std::lock_guard lock(registry().mutex);
  const auto found = registry().strategies.find(owner.get());
  if (!owner || found == registry().strategies.end())
    throw StateError("the strategy that made variable " + in_quotes(variable.path()) + " is gone");
  return handle_on(*found->second);
}

RowRange StrategyNode::rows_of(int replica_id, int64_t global_rows) const {
  return equal_piece(global_rows, num_replicas_in_sync(), replica_id);
}

Tensor StrategyNode::place(const Tensor& value, int local_index) {
  return ops::seen_from(value, device(local_index));
}

Tensor StrategyNode::shard(const Tensor& batch, int local_index) {
  const RowRange range = rows_of(replica_id(local_index), batch.shape()[0]);
  return place(batch.rows(range.first, range.count), local_index);
}

DistributedBatch StrategyNode::distribute(const Batch& batch) {
  DistributedBatch out;
  out.rows = num_rows(batch, "distribute");
  out.first_row = rows_of(replica_id(0), out.rows).first;
  for (int index = 0; index < num_local_replicas(); ++index) {
    Batch part = batch;
    for_each_tensor(part, [&](Tensor& tensor) { tensor = shard(tensor, index); });
    out.parts.push_back(std::move(part));
  }
  return out;
}

namespace {

void check_reached(StrategyNode& node, const char* what) {
  const int others = node.num_replicas_in_sync() - node.num_local_replicas();
  if (others > 0 && !node.processes())
    throw StateError(std::string(what) + ": " + std::to_string(others) + " of the " +
                     std::to_string(node.num_replicas_in_sync()) +
                     " replicas are in other processes, and nothing was given that reaches them");
}

/// "reduce(MEAN, axes 0, 1)": what all processes have to do alike.
std::string reduction_text(ReduceOp op, const ReduceAxes& axes) {
  std::string text = op == ReduceOp::mean ? "reduce(MEAN" : "reduce(SUM";
  for (size_t i = 0; i < axes.list.size(); ++i)
    text += (i == 0 ? ", axes " : ", ") + std::to_string(axes.list[i]);
  return text + ")";
}

}  // namespace

double StrategyNode::reduce(ReduceOp op, std::span<const double> numbers) {
  check_reached(*this, "reduce()");
  const Tensor sum = Tensor::from(std::vector{std::accumulate(numbers.begin(), numbers.end(), 0.0)});
  if (processes()) processes()->all_reduce_sum(sum, reduction_text(op, {}) + " of numbers");
  const double value = sum.to_vector<double>()[0];
  return op == ReduceOp::mean ? value / num_replicas_in_sync() : value;
}

Tensor StrategyNode::reduce(ReduceOp op, const PerReplica<>& values, const ReduceAxes& axes) {
  check_values("reduce", values, num_local_replicas());
  check_reached(*this, "reduce()");
  const std::string what = reduction_text(op, axes);
  if (!axes.list.empty() && op == ReduceOp::mean) return mean_along(values, axes, what);
  Tensors parts;
  for (const Tensor& value : values)
    parts.push_back(axes.list.empty() ? value.detached() : ops::sum(value.detached(), axes.list));
  const Tensor local =
      cross_device_ops().reduce(processes() ? ReduceOp::sum : op, parts, {parts[0].device()})[0];
  if (!processes()) return local;
  processes()->all_reduce_sum(local, what);
  return op == ReduceOp::mean ? mean_of_sum(local, num_replicas_in_sync()) : local;
}

// The mean of all elements: sums and counts are added up apart, so replicas may hold different numbers.
Tensor StrategyNode::mean_along(const PerReplica<>& values, const ReduceAxes& axes, const std::string& what) {
  Tensors sums;
  int64_t count = 0;
  for (const Tensor& value : values) {
    const Tensor number =
        is_floating(value.dtype()) ? value.detached() : ops::cast(value.detached(), DType::float32);
    count += count_along(number.shape(), axes_mask(number.shape(), axes.list, "reduce"));
    sums.push_back(ops::sum(number, axes.list));
  }
  const Tensor sum = cross_device_ops().reduce(ReduceOp::sum, sums, {sums[0].device()})[0];
  if (processes()) {
    processes()->all_reduce_sum(sum, what);
    const Tensor counted = Tensor::from(std::vector<int64_t>{count}, Shape{1}, Device{});
    processes()->all_reduce_sum(counted, what);
    count = counted.to_vector<int64_t>()[0];
  }
  return sum / static_cast<double>(count);
}

Tensor StrategyNode::gather(const PerReplica<>& values, int axis) {
  check_values("gather", values, num_local_replicas());
  check_reached(*this, "gather()");
  const int rank = values[0].rank();
  if (rank > 0 && (axis < -rank || axis >= rank))
    throw ShapeError("gather: axis " + std::to_string(axis) + " does not exist in " +
                     values[0].shape().to_string());
  const int along = axis < 0 ? axis + rank : axis;
  check_gathered(values, along);
  Tensors parts;
  for (const Tensor& value : values) parts.push_back(value.detached());
  if (processes()) {
    Tensors hosts;
    for (const Tensor& part : processes()->all_values(parts, "gather(axis " + std::to_string(along) + ")"))
      hosts.push_back(ops::seen_from(part, parts[0].device()));
    check_gathered(hosts, along);
    return ops::concatenate(hosts, along);
  }
  if (parts.size() == 1) return parts[0];
  return cross_device_ops().gather(parts, {parts[0].device()}, along)[0];
}

}  // namespace nyala
