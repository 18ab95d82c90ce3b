#pragma once

#include <nyala/backend/autograd/gradient_sink.h>
#include <nyala/backend/core/tape.h>

namespace nyala {

/// Walks `tape` back from `loss`, whose gradient is `seed` (undefined: ones). Each leaf's gradient goes to
/// `sink` as soon as the last use of the leaf has been walked; a watched leaf that no path reaches gets
/// zeros. Kept tensors are released on the way, then the tape is cleared. Throws StateError if the tape does
/// not track `loss`.
void backward(Tape& tape, const Tensor& loss, GradientSink& sink, const Tensor& seed = {});

/// The same without clearing the tape or releasing tensors: several walks are possible.
void backward_keep(Tape& tape, const Tensor& loss, GradientSink& sink, const Tensor& seed = {});

}  // namespace nyala
