#include <nyala/api/training/callback_list.h>

#include <nyala/api/callbacks/base/takes_over.h>

namespace nyala {

CallbackList::CallbackList(Model& model, std::vector<CallbackArgument> callbacks,
                           const CallbackParameters& parameters)
    : callbacks_(std::move(callbacks)) {
  for (const CallbackArgument& callback : callbacks_)
    before_.push_back(callback->attach({&model, parameters}));
}

void CallbackList::take_over(const std::vector<std::pair<int, Logs>>& finished) {
  for (const CallbackArgument& callback : callbacks_)
    if (auto* const one = dynamic_cast<TakesOver*>(&*callback)) one->take_over(finished);
}

// Backwards: the same callback may stand there twice.
CallbackList::~CallbackList() {
  for (size_t i = callbacks_.size(); i-- > 0;) callbacks_[i]->attach(before_[i]);
}

}  // namespace nyala
