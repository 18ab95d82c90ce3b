#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Which gamma numbers are drawn: a few for each row, which depend on these, on the step number and on the
/// row's place in the *global* batch alone.
struct GammaRowsDescriptor {
  int64_t rows = 1;
  int64_t columns = 1;
  uint64_t key = 0;       // of seed, layer and call
  int64_t first_row = 0;  // place of the first row in the global batch
};

/// Logarithms (rows, columns) of float32 of gamma numbers with the shape parameter `alpha`, a float32 scalar,
/// and scale 1: a small alpha gives numbers that no float32 holds, but these. The sigmoid of the difference
/// of two is a beta number, the softmax of several a Dirichlet one. Not differentiable. `step` as for
/// dropout(). Throws InvalidArgumentError for negative rows or fewer than one column.
Tensor log_gamma_rows(const Tensor& step, const Tensor& alpha, const GammaRowsDescriptor& descriptor);

/// Inputs (step, alpha).
extern const OpDef kLogGammaRows;

}  // namespace nyala::ops
