#pragma once

#include <vector>

#include <nyala/backend/core/tape.h>
#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

/// Records what models and ops compute on this thread from its construction until stop() or its end, and
/// gives gradients: `GradientTape tape; Tensor loss = ...; auto gradients = tape.gradient(loss,
/// model.trainable_variables());` Trainable variables are watched by themselves, tensors by watch(). One
/// thread at a time.
class GradientTape {
 public:
  GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// `tensor` with what is computed from it tracked: use the result. Throws InvalidArgumentError for
  /// integers.
  Tensor watch(const Tensor& tensor);
  /// Records no more on this thread.
  void stop();

  /// Gradients of the sum of `target` with respect to variables or watched tensors, zeros where nothing leads
  /// to them. May be asked several times. Throws StateError if `target` was not computed under this tape.
  Tensors gradient(const Tensor& target, const Variables& sources);
  Tensors gradient(const Tensor& target, const Tensors& sources);

 private:
  Tensors gradients_by_leaf(const Tensor& target, const std::vector<int32_t>& leaves, const Tensors& shells);

  Tape tape_;
  ScopedValue<Tape*> recording_;
  Tensors watched_;  // leaf keys of tensors count down from the largest
};

}  // namespace nyala
