#include <nyala/strategies/strategy.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala {

using namespace nyala::detail;

Strategy get_strategy() { return Strategy(current_strategy()); }

DistributedDataset Strategy::distribute_datasets_from_function(
    const std::function<Dataset(const InputContext&)>& make) const {
  check_cross_replica("distribute_datasets_from_function()");
  const auto together = node().meet_in_loop();
  const ProcessExchange* const processes = node().processes();
  const InputContext context{processes ? processes->size() : 1, processes ? processes->rank() : 0,
                             num_replicas_in_sync()};
  return {checked(), make(context), BatchesAre::per_replica};
}

Mirrored<> Strategy::mirror(const Tensor& value) const {
  std::vector<Device> devices;
  for (int index = 0; index < num_local_replicas(); ++index) devices.push_back(node().device(index));
  return Mirrored<>(node().cross_device_ops().broadcast(value.detached(), devices));
}

std::vector<int> Strategy::copies_of(const Variable& variable) const {
  if (variable.node().owner.lock().get() != static_cast<SegmentOwner*>(&node().store()))
    throw StateError("update(): variable " + in_quotes(variable.path()) + " does not belong to " +
                     node().name());
  std::vector<int> copies{0};
  if (variable.node().home.defined()) return copies;
  for (size_t i = 1; i < variable.num_copies(); ++i) copies.push_back(static_cast<int>(i));
  return copies;
}

Tensor Strategy::reduce_plain(ReduceOp op, const Tensor& value, const ReduceAxes& axes) const {
  Tensor local = value.detached();
  if (!axes.list.empty())
    local = op == ReduceOp::mean ? ops::mean(local, axes.list) : ops::sum(local, axes.list);
  if (op == ReduceOp::sum && num_replicas_in_sync() > 1)
    throw InvalidArgumentError(
        "reduce(SUM): a plain tensor is no value of the replicas and has no sum over them; pass what run() "
        "returned, or a mirror() of it");
  return local;
}

}  // namespace nyala
