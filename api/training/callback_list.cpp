#include <nyala/api/training/callback_list.h>

#include <algorithm>
#include <map>
#include <typeinfo>

#include <nyala/api/callbacks/base/keeps_state.h>
#include <nyala/api/callbacks/base/takes_over.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

CallbackList::CallbackList(Model& model, std::vector<CallbackArgument> callbacks,
                           const CallbackParameters& parameters)
    : callbacks_(std::move(callbacks)) {
  for (const CallbackArgument& callback : callbacks_)
    before_.push_back(callback->attach({&model, parameters}));
}

void CallbackList::add(CallbackArgument callback, Model& model, const CallbackParameters& parameters) {
  before_.push_back(callback->attach({&model, parameters}));
  callbacks_.push_back(std::move(callback));
}

void CallbackList::take_over(const FinishedEpochs& finished) {
  for (const CallbackArgument& callback : callbacks_)
    if (auto* const one = dynamic_cast<TakesOver*>(&*callback)) one->take_over(finished);
}

std::vector<SavedCallback> CallbackList::states() const {
  std::vector<SavedCallback> states;
  for (const CallbackArgument& callback : callbacks_) {
    const Callback& one = *callback;
    const auto* const keeps = dynamic_cast<const KeepsState*>(&one);
    if (!keeps) continue;
    states.push_back({typeid(one).name(), keeps->state()});
    for (Tensor& value : states.back().state.values)
      if (!is_on_host(value.device())) value = value.to(Device());
  }
  return states;
}

void CallbackList::set_states(const std::vector<SavedCallback>& states) {
  std::map<std::string, size_t> places;
  for (const CallbackArgument& callback : callbacks_) {
    Callback& one = *callback;
    auto* const keeps = dynamic_cast<KeepsState*>(&one);
    if (!keeps) continue;
    size_t left = places[typeid(one).name()]++;
    const auto is_its = [&](const SavedCallback& saved) {
      return saved.name == typeid(one).name() && left-- == 0;
    };
    if (const auto found = std::ranges::find_if(states, is_its); found != states.end())
      keeps->set_state(found->state);
  }
}

// Backwards: the same callback may stand there twice.
CallbackList::~CallbackList() {
  for (size_t i = callbacks_.size(); i-- > 0;) callbacks_[i]->attach(before_[i]);
}

}  // namespace nyala
