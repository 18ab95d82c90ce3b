#pragma once

#include <optional>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/communicators/communicator.h>

namespace nyala {

/// A table's gradient: slice indices[i] is the sum of all values[i] with that index, every other slice is
/// zero. Values have indices.shape + table.shape[1:]. In host memory.
struct GradientRows {
  Tensor indices, values;
};

/// The sum of `parts`, each row named once (int64, 0 to table.shape[0] - 1): rows of a part are added in
/// their order, then the parts in theirs, as in a sum of dense gradients. Indices out of range are left out.
GradientRows merged_rows(const std::vector<GradientRows>& parts, const Shape& table, DType dtype);

/// What merged_rows() gave all ranks, in their order, behind each other. None where
/// some rank has none to send (`own` is empty: its gradient is dense), or where all together name as many
/// rows as the table has, so that the dense gradient is less. All ranks call it.
std::optional<GradientRows> rows_of_all_ranks(Communicator& ranks, const std::optional<GradientRows>& own,
                                              const Shape& table, DType dtype);

}  // namespace nyala
