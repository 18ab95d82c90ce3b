#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// The activation of a layer: a name ("relu", "softmax"), or a function with a name. Empty: linear.
class ActivationArgument {
 public:
  using Function = std::function<Tensor(const Tensor&)>;

  ActivationArgument() = default;
  /// Keras' names are in activations.h; others are those that register_serializable() gave. Throws
  /// InvalidArgumentError for an unknown name, with the nearest one.
  ActivationArgument(const char* name) : ActivationArgument(std::string(name)) {}
  ActivationArgument(const std::string& name);
  /// A function of the user's, Tensor(const Tensor&); files hold it by the name of register_serializable().
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F&, const Tensor&> &&
           !std::is_same_v<std::remove_cvref_t<F>, ActivationArgument>) ActivationArgument(F f)
      : name_("function"), function_(std::move(f)) {}
  ActivationArgument(Function f, std::string name) : name_(std::move(name)), function_(std::move(f)) {}

  /// Keras' name, "linear" where none was given; of a function the name that came with it, else "function".
  const std::string& name() const { return name_; }
  bool is_linear() const { return name_ == "linear"; }
  bool is_custom() const { return static_cast<bool>(function_); }
  /// The user's function; empty for Keras' names.
  const Function& function() const { return function_; }
  /// Applies it.
  Tensor operator()(const Tensor& x) const;

  friend bool operator==(const ActivationArgument& a, const ActivationArgument& b) {
    return a.name_ == b.name_;
  }

 private:
  std::string name_ = "linear";
  Function function_;
};

}  // namespace nyala
