#include <nyala/strategies/assign_by_rows.h>

#include <nyala/strategies/strategy_node.h>

namespace nyala {

void detail::assign_by_rows(const Variable& variable, const Tensor& value) {
  const std::shared_ptr<StrategyNode> strategy = strategy_of(variable);
  VariableNode& node = variable.node();
  for (size_t index = 0; index < node.copies.size(); ++index) {
    const int replica = strategy->replica_id(static_cast<int>(index));
    const RowRange mine = strategy->rows_of(replica, value.shape()[0]);
    const Tensor share = Tensor::zeros(value.shape(), value.dtype(), Device{});
    if (mine.count > 0) share.rows(mine.first, mine.count).copy_from(value.rows(mine.first, mine.count));
    node.copies[index].copy_from(share);
  }
  node.note_write();
}

}  // namespace nyala
