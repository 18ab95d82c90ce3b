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
  /// Nothing leads from what is differentiated to `leaf`: its uses ended in ops without a gradient. True:
  /// that is all the sink wants. False: zeros come by destination() and ready().
  virtual bool without_gradient(int32_t leaf) {
    (void)leaf;
    return false;
  }
  /// Offers a gradient as rows, for a leaf that was used once, by ops::take along axis 0: slice indices[i] of
  /// it is the sum of all values[i] with that index, every other slice is zero. Indices are those of take, of
  /// any shape; values have indices.shape + leaf.shape[1:]. True: the sink has taken it, and neither
  /// destination() nor ready() follows. False: it comes dense.
  virtual bool take_rows(int32_t leaf, const Tensor& indices, const Tensor& values) {
    (void)leaf, (void)indices, (void)values;
    return false;
  }
};

}  // namespace nyala
