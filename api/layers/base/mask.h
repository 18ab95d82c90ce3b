#pragma once

#include <memory>
#include <span>

#include <nyala/backend/core/tensor.h>

namespace nyala {

using Inputs = std::span<const Tensor>;
struct CallArguments;

/// What a tensor with a mask carries, and the first one of a call with arguments (call_arguments.h). Keras'
/// masks are booleans of shape (batch, time): false marks a step that layers and losses leave out.
struct MaskMetadata : TensorMetadata {
  Tensor mask;
  bool given = false;  // by given_mask()
  std::shared_ptr<const CallArguments> arguments;

  /// A copy to change, of the same type.
  virtual std::shared_ptr<MaskMetadata> clone() const { return std::make_shared<MaskMetadata>(*this); }
  /// Whether they mark a symbolic tensor, which has a place in a graph.
  virtual bool is_symbolic() const { return false; }
};

/// The mask of `x`, or an undefined tensor.
Tensor mask_of(const Tensor& x);

/// `x` with `mask` as its mask, as layers pass masks on; an undefined mask takes it away.
Tensor with_mask(const Tensor& x, const Tensor& mask);

/// Keras' argument `mask=`: `lstm(given_mask(x, mask))`. Symbolic tensors take constants, too. As in
/// Keras a recurrent layer that is called with states uses no other mask than a given one.
Tensor given_mask(const Tensor& x, const Tensor& mask);

namespace detail {

/// Whether `x` is an Input's tensor or was made of one: calls on it become part of a graph.
bool is_symbolic(const Tensor& x);

bool has_given_mask(const Tensor& x);

/// `x` cast to `dtype` with all that travels with it: its mask, given or not, and the arguments of its call.
Tensor cast_with_metadata(const Tensor& x, DType dtype);

/// The mask of a layer that merges its inputs element by element: true where that of any input is; undefined
/// unless all have one.
Tensor merged_mask(Inputs inputs);

}  // namespace detail

}  // namespace nyala
