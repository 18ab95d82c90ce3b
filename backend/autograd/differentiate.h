#pragma once

#include <vector>

#include <nyala/backend/core/tape.h>

namespace nyala {

/// Entries [begin, end) of a tape.
struct EntryRange {
  size_t begin = 0;
  size_t end = 0;
};

/// What differentiate() is asked for.
struct DerivativeRequest {
  /// Value ids: leaves, tracked values or results of ops.
  std::vector<uint32_t> sources = {};
  /// The entries to walk, ascending; what lies between them counts as constant.
  std::vector<EntryRange> ranges = {};
  /// The gradient of the target; undefined: ones.
  Tensor seed = {};
  /// Record the walk on the tape itself: the gradients can be differentiated again. Needs tape.recording.
  bool record = false;
};

namespace detail {

/// The gradient of `target` (of its sum where there is no seed) with respect to each source, undefined where
/// no path leads to it, as nowhere from a target that the tape does not track: one that was computed outside,
/// or by ops without a gradient (floor, comparisons). The tape keeps its entries. Throws ShapeError for a
/// seed of another shape, InvalidArgumentError where a second derivative has to go through the gradient of an
/// op that is not twice differentiable.
Tensors differentiate(Tape& tape, const Tensor& target, const DerivativeRequest& request);

}  // namespace detail

}  // namespace nyala
