#pragma once

#include <vector>

#include <nyala/api/losses/configured_loss.h>

namespace nyala {

/// y_true and y_pred, and the axes over which losses of overlap (Dice, Tversky) sum: all where none are
/// named.
struct OverlapSums {
  Tensor both;       // sum(y_true y_pred)
  Tensor only_true;  // sum(y_true (1 - y_pred))
  Tensor only_pred;  // sum((1 - y_true) y_pred)
};

namespace detail {

OverlapSums overlap_sums(const Tensor& y_true, const Tensor& y_pred, const std::vector<int64_t>& axes);

/// False where the sums go over the rows of a batch.
bool sums_within_rows(const std::vector<int64_t>& axes);

}  // namespace detail

}  // namespace nyala
