#pragma once

#include <nyala/backend/parameters/distributed_variable.h>

namespace nyala {

/// A variable whose copies go their own ways and are brought together when they are read between steps
/// (Synchronization::on_read): counts of metrics, moving statistics.
///
/// |                        | in a replica            | between steps                                      |
/// |------------------------|-------------------------|----------------------------------------------------|
/// | value                  | the replica's copy      | sum or mean of the copies, or the first copy; with |
/// |                        |                         | aggregation none StateError                        |
/// | assign                 | that copy alone         | sum: each copy an equal share; else: every copy    |
/// | assign_add, assign_sub | that copy alone         | sum: StateError; else: every copy                  |
/// | scatter_...            | InvalidArgumentError    | InvalidArgumentError                               |
///
/// Every copy begins with the initial value, so that a sum begins with as many times it as there are
/// replicas. The value between steps is what is saved, and restoring is assigning: a file does not depend on
/// the number of replicas. Shares of integers differ by at most one, larger first, so that their sum is the
/// value (TensorFlow loses the rest). The mean of copies that all were written together is exactly their
/// value.
class SyncOnReadVariable final : public DistributedVariable {
 public:
  static const SyncOnReadVariable& instance();
  std::string_view class_name() const override { return "SyncOnReadVariable"; }
  Tensor read(const VariableNode& node, const VariablePlace& place) const override;
  void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const override;
  /// What the copies of this process come to between steps, whatever other processes have.
  static Tensor read_here(const VariableNode& node);

 private:
  static void write_everywhere(VariableNode& node, const VariableWrite& write);
};

}  // namespace nyala
