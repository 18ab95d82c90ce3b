#pragma once

#include <array>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Limits of uniform numbers: low <= number < high, or `low` where they are equal.
struct UniformRange {
  double low = 0.0;
  double high = 1.0;
};

/// Which uniform numbers are drawn: a few for each row, which depend on these, on the step number and on the
/// row's place in the *global* batch alone, never on how a batch is split or who computes it.
struct UniformRowsDescriptor {
  static constexpr int64_t kMaxColumns = 2;
  int64_t rows = 1;
  int64_t columns = 1;
  std::array<UniformRange, kMaxColumns> ranges = {};  // of each column
  uint64_t key = 0;                                   // of seed, layer and call
  int64_t first_row = 0;                              // place of the first row in the global batch
};

/// (rows, columns) numbers of float32; not differentiable. `step` as for dropout(). Throws
/// InvalidArgumentError for negative rows, or columns outside [1, kMaxColumns].
Tensor uniform_rows(const Tensor& step, const UniformRowsDescriptor& descriptor);

/// Input (step).
extern const OpDef kUniformRows;

}  // namespace nyala::ops
