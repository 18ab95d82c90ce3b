#include <nyala/strategies/strategy.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/concatenate.h>
#include <nyala/strategies/one_device.h>

namespace nyala {

RowRange StrategyNode::rows_of(int replica, int64_t global_rows) const {
  const int64_t replicas = num_replicas_in_sync(), id = replica;
  const int64_t share = global_rows / replicas, larger = global_rows % replicas;
  return {id * share + std::min(id, larger), share + (id < larger ? 1 : 0)};
}

Tensor StrategyNode::shard(const Tensor& batch, int replica) {
  const RowRange range = rows_of(replica, batch.shape()[0]);
  const Tensor rows = batch.rows(range.first, range.count);
  const Device device = store().device(replica);
  const bool both_cpu = device.kind == DeviceKind::cpu && rows.device().kind == DeviceKind::cpu;
  return both_cpu ? rows.alias_on(device) : rows.to(device);
}

DistributedBatch StrategyNode::distribute(const Batch& batch) {
  DistributedBatch out;
  out.rows = num_rows(batch, "distribute");
  for (int replica = 0; replica < num_replicas_in_sync(); ++replica) {
    Batch part = batch;
    for_each_tensor(part, [&](Tensor& tensor) { tensor = shard(tensor, replica); });
    out.parts.push_back(std::move(part));
  }
  return out;
}

Tensor StrategyNode::reduce(ReduceOp op, const PerReplica& values) {
  if (values.empty()) throw InvalidArgumentError("reduce: expected one value per replica, received none");
  const Device device = values[0].device();
  Tensor sum = values[0].detached();
  for (size_t i = 1; i < values.size(); ++i) sum = ops::add(sum, values[i].to(device));
  return op == ReduceOp::mean ? sum / static_cast<double>(values.size()) : sum;
}

Tensor StrategyNode::gather(const PerReplica& values, int axis) {
  if (values.empty()) throw InvalidArgumentError("gather: expected one value per replica, received none");
  const Device device = values[0].device();
  Tensors parts;
  for (const Tensor& value : values) parts.push_back(value.to(device));
  return parts.size() == 1 ? parts[0] : ops::concatenate(parts, axis);
}

namespace {

/// Checked before the scope's members change the thread's context.
std::shared_ptr<StrategyNode> not_nested(std::shared_ptr<StrategyNode> node) {
  const auto open = std::static_pointer_cast<StrategyNode>(thread_context().strategy);
  if (open && open != node)
    throw StateError("the scope of " + node->name() + " was opened inside that of " + open->name() +
                     "; close one before opening another");
  return node;
}

}  // namespace

StrategyScope::StrategyScope(std::shared_ptr<StrategyNode> node)
    : node_(not_nested(std::move(node))),
      creator_(thread_context().creator, &node_->store()),
      strategy_(thread_context().strategy, node_) {}

std::shared_ptr<StrategyNode> current_strategy() {
  auto open = std::static_pointer_cast<StrategyNode>(thread_context().strategy);
  return open ? open : default_strategy(thread_context().device);
}

bool has_strategy() { return thread_context().strategy != nullptr; }

}  // namespace nyala
