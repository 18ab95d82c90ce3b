#pragma once

#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What a callback knows from the epochs and batches before.
struct CallbackState {
  std::vector<double> numbers = {};
  Tensors values = {};  ///< not written to any more
};

/// A callback whose state belongs to the training: where a process of several is lost, those that go on, and
/// the one that is started in its place, go on with the state that it had where the training goes on. Derive
/// from it beside Callback.
class KeepsState {
 public:
  virtual ~KeepsState() = default;
  /// Called after steps: give handles on tensors, not copies.
  virtual CallbackState state() const = 0;
  /// What state() gave, perhaps in another process of the same program. Called after on_train_begin.
  virtual void set_state(const CallbackState& state) = 0;
};

}  // namespace nyala
