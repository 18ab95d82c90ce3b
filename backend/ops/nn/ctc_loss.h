#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Connectionist temporal classification (Graves et al., 2006): (batch,) -log of the probability that the
/// time steps of `logits` (batch, steps, classes), read without repetitions and blanks, spell the labels.
/// `target` (batch, labels) holds class numbers; its blanks (`blank`, below 0 counted from the last class)
/// count as missing and stand behind the labels. Labels that do not fit into the steps give infinity, with a
/// gradient of 0. A class out of range makes the row's loss NaN, its gradient 0, and reports to the status
/// word (backend/runtime/status_word.h). Throws ShapeError for other ranks and for a blank that is
/// none of the classes.
Tensor ctc_loss(const Tensor& target, const Tensor& logits, int64_t blank = 0);

struct CtcDescriptor {
  int64_t blank = 0;
};
/// Inputs target int64, logits; outputs the loss and its gradient by the logits, (batch, steps, classes).
extern const OpDef kCtcLoss;

}  // namespace nyala::ops
