#include <nyala/api/training/callback_list.h>

namespace nyala {

CallbackList::CallbackList(Model& model, std::vector<CallbackArgument> callbacks, const CallbackParameters& parameters)
    : callbacks_(std::move(callbacks)) {
  for (const CallbackArgument& callback : callbacks_) callback->attach(model, parameters);
}

}  // namespace nyala
