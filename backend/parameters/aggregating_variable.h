#pragma once

#include <nyala/backend/parameters/distributed_variable.h>

namespace nyala {

/// One variable on a parameter device, seen by replicas on others (CentralStorageStrategy). Reading gives its
/// value everywhere. A write between steps or while it is updated is carried out once. A write by replicas
/// brings their values together as a MirroredVariable's does and needs an aggregation to do so: StateError
/// with none.
///
/// What a replica on another kind of device reads is a copy fetched after each write; after an optimizer's
/// update ParameterStore::fetch() does it.
class AggregatingVariable final : public DistributedVariable {
 public:
  static const AggregatingVariable& instance();
  std::string_view class_name() const override { return "AggregatingVariable"; }
  Tensor read(const VariableNode& node, const VariablePlace& place) const override;
  void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const override;
  void fetch(const VariableNode& node) const override;
};

}  // namespace nyala
