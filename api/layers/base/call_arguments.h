#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What one call of a layer is told by name (Keras' keyword arguments): it travels with the first tensor of
/// the call, as a given mask does with its tensor.
struct CallArguments {
  /// The names under which the tensors are passed; fewer or "": by their position.
  std::vector<std::string> tensors = {};
  /// "use_causal_mask", "return_attention_scores".
  std::map<std::string, bool> flags = {};

  bool flag(const std::string& name) const {
    const auto found = flags.find(name);
    return found != flags.end() && found->second;
  }
};

namespace detail {

/// `x` as the first tensor of a call with these arguments; null takes them away. Works on symbolic tensors.
Tensor with_call_arguments(const Tensor& x, std::shared_ptr<const CallArguments> arguments);

/// What travels with `x`, or null.
std::shared_ptr<const CallArguments> call_arguments_of(const Tensor& x);

}  // namespace detail

}  // namespace nyala
