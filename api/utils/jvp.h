#pragma once

#include <functional>

#include <nyala/backend/core/tensor.h>

namespace nyala::ops {

/// What a function gives, and how it changes: for each result its Jacobian times the tangents. Undefined for
/// a result that is not floating or that no primal leads to.
struct Jvp {
  Tensors primals_out, tangents_out;
};

/// Keras' jvp: `fun` at `primals`, and its derivative in the direction `tangents`, which have the primals'
/// shapes. Computed by going back twice, so that the ops of `fun` have second derivatives (GradientTape);
/// InvalidArgumentError through others. What `fun` makes beside its results (has_aux) a lambda can keep.
/// Throws InvalidArgumentError for another number of tangents or primals that are not floating, ShapeError
/// for other shapes.
Jvp jvp(const std::function<Tensors(const Tensors&)>& fun, const Tensors& primals, const Tensors& tangents);

}  // namespace nyala::ops
