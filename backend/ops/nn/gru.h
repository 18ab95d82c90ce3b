#pragma once

#include <nyala/backend/ops/nn/recurrence.h>

namespace nyala::ops {

/// x (batch, time, 3 units) is x . kernel + bias, recurrent_kernel (units, 3 units), h (batch, units), bias
/// (3 units) is added to h . recurrent_kernel or undefined, mask (batch, time) of bool or undefined.
struct GruInputs {
  Tensor x, recurrent_kernel, h, bias, mask;
};
/// output (batch, time, units), or (batch, units) without return_sequences; the last state.
struct GruResult {
  Tensor output, h;
};

namespace detail {

/// A whole sequence through a GRU with Keras' formulas for reset_after (api/layers/rnn/gru_cell.h). Masks as
/// for lstm(). Differentiable once. Throws ShapeError where shapes do not fit.
GruResult gru(const GruInputs& inputs, const RecurrentOptions& options);

}  // namespace detail

struct GruDescriptor : RecurrentOptions {
  bool has_bias = false, has_mask = false;  // set by gru()
  bool keeps = false;                       // results for the gradient are wanted; set by gru()
};
/// Inputs (x, recurrent_kernel, h[, bias][, mask]) -> (output, h, and with `keeps`, else empty, what the
/// gradient reads at each step of time: z, r, n and the recurrent part of n before r (batch, time, 4 units),
/// the state h before the step).
extern const OpDef kGru;

struct GruBackwardDescriptor {
  GruDescriptor forward;
  bool has_output = false, has_h = false;  // which gradients are given
};
/// Inputs ([gradients of output, h,] gates, h before, recurrent_kernel[, mask]) -> gradients of x, of
/// h . recurrent_kernel + bias at each step, and of h.
extern const OpDef kGruBackward;

namespace detail {

/// From the shape of the gates.
RecurrentSizes gru_sizes(const Shape& gates, bool go_backwards);

}  // namespace detail

/// Which of the inputs of a call is what; null where it is not given.
struct GruForwardInputs {
  const Tensor *bias = nullptr, *mask = nullptr;
};

namespace detail {

GruForwardInputs gru_forward_inputs(const KernelCall& call);

}  // namespace detail

struct GruBackwardInputs {
  const Tensor *output = nullptr, *h = nullptr, *gates = nullptr, *h_before = nullptr,
               *recurrent_kernel = nullptr, *mask = nullptr;
};

namespace detail {

GruBackwardInputs gru_backward_inputs(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
