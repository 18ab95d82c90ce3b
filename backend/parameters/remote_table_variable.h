#pragma once

#include <memory>

#include <nyala/backend/parameters/distributed_variable.h>
#include <nyala/backend/parameters/row_source.h>

namespace nyala {

/// A table that lies in a RowSource: its copies are abstract. Layers read it by rows (detail::take_rows). Its
/// value as a whole, and a new one, go through this process' memory: OutOfMemoryError where that does not
/// hold it. Of other writes there is scatter_update; StateError for the rest.
class RemoteTableVariable final : public DistributedVariable {
 public:
  static const RemoteTableVariable& instance();
  std::string_view class_name() const override { return "RemoteTableVariable"; }
  Tensor read(const VariableNode& node, const VariablePlace& place) const override;
  void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const override;

  /// Throws StateError where that has ended.
  static std::shared_ptr<RowSource> source_of(const VariableNode& node);
};

}  // namespace nyala
