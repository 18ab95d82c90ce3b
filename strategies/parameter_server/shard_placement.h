#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/strategies/parameter_server/partitioners.h>
#include <nyala/strategies/rows/row_split.h>

namespace nyala::detail {

/// What of a variable decides where it lies.
struct PlacedShape {
  Shape shape;
  DType dtype = DType::float32;
};

/// A part of a variable on one server.
struct VariablePart {
  int variable = 0;  ///< in creation order
  int part = 0;      ///< of this variable, from 0
  RowRange rows;     ///< along axis 0; a scalar is one row
  Shape shape;       ///< the part's own; a scalar's is empty
  int server = 0;
};

/// Which part of which variable lies on which server: round robin over all parts in creation order, so that
/// variables of a job have the same places in each process and after each restart.
class ShardPlacement {
 public:
  /// Throws InvalidArgumentError unless there is at least one server.
  explicit ShardPlacement(int servers, Partitioner partitioner = {});
  /// With these variables, in creation order.
  ShardPlacement(std::span<const PlacedShape> variables, int servers, Partitioner partitioner = {});

  /// Adds the next variable; its number. Throws what Partitioner::num_parts() does; then nothing has changed.
  int add(const PlacedShape& variable);

  int num_servers() const { return servers_; }
  int num_variables() const { return static_cast<int>(first_parts_.size()); }
  /// In creation order.
  std::span<const VariablePart> parts() const { return parts_; }
  /// In the order of rows. Throws InvalidArgumentError for a number that no variable has.
  std::span<const VariablePart> parts_of(int variable) const;
  /// Those that a server holds, in creation order.
  std::vector<VariablePart> parts_on(int server) const;
  /// The part in which a row lies. Throws InvalidArgumentError for a row that the variable does not have.
  const VariablePart& part_of_row(int variable, int64_t row) const;

 private:
  int servers_;
  Partitioner partitioner_;
  std::vector<VariablePart> parts_;
  std::vector<size_t> first_parts_;  ///< of each variable
};

}  // namespace nyala::detail
