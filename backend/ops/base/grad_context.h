#pragma once

#include <initializer_list>

#include <nyala/backend/core/op.h>

namespace nyala {

/// What a gradient function sees: the recorded inputs and outputs (abstract tensors where not kept), the
/// gradients of the outputs, and a place for each input's gradient. Tensors in here are untracked and nothing
/// is recorded, unless records() says otherwise.
class GradContext {
 public:
  virtual ~GradContext() = default;

  template <class T>
  const T& descriptor() const {
    return *static_cast<const T*>(descriptor_data());
  }
  virtual const void* descriptor_data() const = 0;
  virtual size_t num_inputs() const = 0;
  virtual const Tensor& input(size_t i) const = 0;
  virtual const Tensor& output(size_t i = 0) const = 0;
  /// The gradient of output `i`; undefined where nothing depends on it.
  virtual const Tensor& grad(size_t i = 0) const = 0;
  /// Whether anybody wants the gradient of input `i`.
  virtual bool needs(size_t i) const = 0;
  /// True where what a `twice_differentiable` op computes here is itself recorded: then it takes ops that
  /// have gradients, and reshapes by ops::reshape.
  virtual bool records() const { return false; }
  /// Adds to the gradient of input `i`: a tensor of the input's shape and dtype.
  virtual void set(size_t i, const Tensor& gradient) = 0;
  /// Adds the result of `op` to the gradient of input `i`; written straight to its destination where
  /// possible.
  virtual void emit(size_t i, const OpDef& op, const Descriptor& descriptor,
                    std::initializer_list<const Tensor*> inputs) = 0;
  /// grad(i) where nothing else will read it, so that a result may be written over it; else undefined.
  virtual Tensor spare_grad(size_t) const { return {}; }
};

}  // namespace nyala
