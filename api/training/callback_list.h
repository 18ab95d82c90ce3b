#pragma once

#include <vector>

#include <nyala/api/callbacks/callback.h>

namespace nyala {

/// Calls every callback's hooks in order.
class CallbackList {
 public:
  CallbackList(Model& model, std::vector<CallbackArgument> callbacks, const CallbackParameters& parameters);

  /// Calls `hook` of each callback: list.call(&Callback::on_epoch_end, epoch, logs).
  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), Arguments&&... arguments) {
    for (const CallbackArgument& callback : callbacks_) ((*callback).*hook)(arguments...);
  }

 private:
  std::vector<CallbackArgument> callbacks_;
};

}  // namespace nyala
