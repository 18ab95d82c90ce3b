#pragma once

#include <nyala/backend/ops/nn/recurrence.h>

namespace nyala::ops {

struct LstmDescriptor : RecurrentOptions {
  bool has_mask = false;  // set by lstm()
  bool keeps = false;     // results for the gradient are wanted; set by lstm()
};

/// z (batch, time, 4 units) is x . kernel + bias, recurrent_kernel (units, 4 units), h and c (batch, units),
/// mask (batch, time) of bool or undefined.
struct LstmInputs {
  Tensor z, recurrent_kernel, h, c, mask;
};
/// output (batch, time, units), or (batch, units) without return_sequences; the last states.
struct LstmResult {
  Tensor output, h, c;
};

namespace detail {

/// A whole sequence through an LSTM with Keras' formulas (api/layers/rnn/lstm_cell.h). A masked step leaves
/// the states as they are; its output is that of the step before, 0 before the first that counts.
/// Differentiable once. Throws ShapeError where shapes do not fit.
LstmResult lstm(const LstmInputs& inputs, const RecurrentOptions& options);

}  // namespace detail

/// Inputs (z, recurrent_kernel, h, c[, mask]) -> (output, h, c, and with `keeps`, else empty, what the
/// gradient reads at each step of time: activated gates (batch, time, 4 units), the states h and c before the
/// step).
extern const OpDef kLstm;

struct LstmBackwardDescriptor {
  LstmDescriptor forward;
  bool has_output = false, has_h = false, has_c = false;  // which gradients are given
};
/// Inputs ([gradients of output, h, c,] gates, c before, recurrent_kernel[, mask]) -> gradients of z, h and
/// c.
extern const OpDef kLstmBackward;

namespace detail {

/// From the shape of z or of the gates.
RecurrentSizes lstm_sizes(const Shape& gates, bool go_backwards);

}  // namespace detail

/// Which of the inputs of kLstmBackward is what; null where it is not given.
struct LstmBackwardInputs {
  const Tensor *output = nullptr, *h = nullptr, *c = nullptr, *gates = nullptr, *c_before = nullptr,
               *recurrent_kernel = nullptr, *mask = nullptr;
};

namespace detail {

LstmBackwardInputs lstm_backward_inputs(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
