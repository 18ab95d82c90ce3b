#pragma once

#include <nyala/backend/parameters/distributed_variable.h>

namespace nyala {

/// A variable whose copies are brought together when they are written (Synchronization::on_write).
///
/// |                    | in a replica                              | between steps                     |
/// |--------------------|-------------------------------------------|-----------------------------------|
/// | value              | the replica's copy                        | the first copy                    |
/// | assign, assign_add, assign_sub, scatter_add, scatter_sub, scatter_mul, scatter_div                 |
/// |   aggregation none | that replica's copy alone                 | every copy, with the same value   |
/// |   sum, mean        | together: all replicas' values, reduced   | every copy                        |
/// |   only_first       | together: replica 0's value               | every copy                        |
/// | scatter_min, _max, _update | as above; InvalidArgumentError with sum and mean                      |
///
/// While a copy is updated (Strategy::update) a write concerns that copy alone. "Together": every replica
/// calls, or all get CommunicationError. One number, or one tensor's bytes, from all replicas has a mean but
/// no sum: InvalidArgumentError.
///
/// Copies that replicas wrote alone differ until all are written together. An optimizer's update does that,
/// too: it goes on from the first copy (in TensorFlow each copy goes its own way).
///
/// Copies on CPU devices share their bytes where the strategy says so and only optimizers write; a copy that
/// a replica writes alone gets bytes of its own.
class MirroredVariable final : public DistributedVariable {
 public:
  static const MirroredVariable& instance();
  std::string_view class_name() const override { return "MirroredVariable"; }
  Tensor read(const VariableNode& node, const VariablePlace& place) const override;
  void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const override;
  void rejoin(VariableNode& node) const override;

 private:
  static void write_alone(VariableNode& node, int replica, const VariableWrite& write);
};

}  // namespace nyala
