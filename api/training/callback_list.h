#pragma once

#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/training/state/training_state.h>

namespace nyala {

/// Calls every callback's hooks in order. They are attached to the model as long as the list lives; then each
/// is given back what it had before (that of fit, for an evaluation inside it).
class CallbackList {
 public:
  CallbackList(Model& model, std::vector<CallbackArgument> callbacks, const CallbackParameters& parameters);
  ~CallbackList();
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  /// One more, behind the others, that has seen no hook.
  void add(CallbackArgument callback, Model& model, const CallbackParameters& parameters);

  /// Calls `hook` of each callback: list.call(&Callback::on_epoch_end, epoch, logs).
  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), Arguments&&... arguments) {
    for (const CallbackArgument& callback : callbacks_) ((*callback).*hook)(arguments...);
  }

  /// Tells those that keep something what was before them.
  void take_over(const FinishedEpochs& finished);
  /// Of those that keep one, in their order, with tensors on the host.
  std::vector<SavedCallback> states() const;
  /// To each the one of its class with its place among them. Others keep what they have.
  void set_states(const std::vector<SavedCallback>& states);

 private:
  std::vector<CallbackArgument> callbacks_;
  std::vector<Callback::Attachment> before_;
};

}  // namespace nyala
