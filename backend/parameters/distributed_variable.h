#pragma once

#include <string_view>

#include <nyala/backend/parameters/variable_write.h>

namespace nyala {

class Collectives;

/// Where a variable is used.
struct VariablePlace {
  enum class Context {
    cross_replica,  // between steps, in merge_call, in a scope
    replica,        // inside Strategy::run
    update,         // inside Strategy::update
  };
  Context context = Context::cross_replica;
  int local_index = 0;            // whose copy, unless cross_replica
  Collectives* others = nullptr;  // replica: null where there is only one
};

namespace detail {

/// Where the calling thread uses `node`.
VariablePlace place_of(const VariableNode& node);

/// For whoever writes a variable's bytes in an update context without Variable's methods: the bytes that
/// stand for this copy (all copies where they have one home), and what has to follow the write.
Tensor copy_to_update(const Variable& variable, int copy);
void after_update(const Variable& variable);

}  // namespace detail

/// What reading and writing a variable mean when it has a copy for each replica. One stateless object per
/// kind of variable.
class DistributedVariable {
 public:
  virtual ~DistributedVariable() = default;
  /// "MirroredVariable".
  virtual std::string_view class_name() const = 0;
  /// The value as it reads at `place`, untracked.
  virtual Tensor read(const VariableNode& node, const VariablePlace& place) const = 0;
  /// `write` has been checked against the variable's shape and dtype.
  virtual void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const = 0;
  /// Makes all copies what the first is, as far as this kind of variable keeps its copies equal.
  virtual void rejoin(VariableNode&) const {}
  /// Called when the home's bytes were written: brings copies on other devices up to date.
  virtual void fetch(const VariableNode&) const {}

 protected:
  /// The copy of the replica at `place`; one that stands for all of another strategy's where there are fewer.
  static const Tensor& own_copy(const VariableNode& node, const VariablePlace& place);
  /// Carries `write` out on every copy's bytes, each once.
  static void write_all(const VariableNode& node, const VariableWrite& write);
  /// Called by every replica: meets, brings their writes together by the variable's aggregation, and carries
  /// the result out on every copy.
  static void write_together(VariableNode& node, const VariablePlace& place, const VariableWrite& write);
  /// Throws StateError where the replicas at `place` belong to another strategy than the variable.
  static void check_own_strategy(const VariableNode& node, const VariablePlace& place,
                                 const VariableWrite& write);
  /// Throws InvalidArgumentError for scatter_min, scatter_max and scatter_update with sum or mean.
  static void check_scatter(const VariableNode& node, const VariableWrite& write);
};

}  // namespace nyala
