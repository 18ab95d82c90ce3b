#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Receives the gradients of watched leaves. Called from the thread that runs backward().
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Where the gradient of `leaf` is to be written (its shape and dtype), or an undefined tensor for memory
  /// of backward's own. Asked at most once per leaf and walk.
  virtual Tensor destination(int32_t leaf) = 0;
  /// The gradient of `leaf` is final: all uses have been walked. Leaves come in any order. For leaves with a
  /// destination `gradient` is that tensor, filled.
  virtual void ready(int32_t leaf, const Tensor& gradient) = 0;
};

}  // namespace nyala
