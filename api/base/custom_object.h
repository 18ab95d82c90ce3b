#pragma once

#include <any>
#include <functional>
#include <type_traits>
#include <utility>

#include <nyala/api/base/fields.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

struct LayerOptions;

/// Makes a layer of the user's whose Config is filled by a visitor.
using LayerMaker = std::function<Layer(FieldVisitor&, const LayerOptions&)>;
/// The same for a Loss, Metric, Optimizer, LearningRate, Initializer, Regularizer or Constraint.
template <class Handle>
using ObjectMaker = std::function<Handle(FieldVisitor&)>;

/// A function of the user's, and whether another one is the same.
template <class Function>
struct KnownFunction {
  Function function;
  std::function<bool(const Function&)> is;
};
/// Of x, and of y_true and y_pred.
using KnownActivation = KnownFunction<std::function<Tensor(const Tensor&)>>;
using KnownLossFunction = KnownFunction<std::function<Tensor(const Tensor&, const Tensor&)>>;

/// Functions that are activations, and those that are losses or metrics.
template <class F>
concept ActivationFunction = std::is_invocable_r_v<Tensor, F&, const Tensor&> &&
    !std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>;
template <class F>
concept TwoTensorFunction = std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&> &&
    !std::is_invocable_r_v<Tensor, F&, const Tensor&>;

namespace detail {

/// Functions are the same by their address, lambdas without captures by their type.
template <class Known, class F>
Known known_function(F function) {
  using Function = decltype(Known::function);
  if constexpr (std::is_pointer_v<F>)
    return {Function(function), [function](const Function& other) {
              const F* const target = other.template target<F>();
              return target && *target == function;
            }};
  else if constexpr (std::is_empty_v<F>)
    return {Function(function), [](const Function& other) { return other.template target<F>() != nullptr; }};
  else
    return {Function(std::move(function)), [](const Function&) { return false; }};
}

}  // namespace detail

/// How something of the user's that a file names is made again: a layer or model, a loss, metric, optimizer,
/// schedule, initializer, regularizer or constraint, or a function that is an activation, a loss or a metric.
class CustomObject {
 public:
  CustomObject() = default;
  CustomObject(LayerMaker maker) : held_(std::move(maker)) {}
  template <class Handle>
  CustomObject(ObjectMaker<Handle> maker) : held_(std::move(maker)) {}
  template <ActivationFunction F>
  CustomObject(F function) : held_(detail::known_function<KnownActivation>(std::move(function))) {}
  template <TwoTensorFunction F>
  CustomObject(F function) : held_(detail::known_function<KnownLossFunction>(std::move(function))) {}

  explicit operator bool() const { return held_.has_value(); }
  /// The maker or function if it is one of this kind, else null.
  template <class Maker>
  const Maker* as() const {
    return std::any_cast<Maker>(&held_);
  }

 private:
  std::any held_;  // LayerMaker, an ObjectMaker, KnownActivation or KnownLossFunction
};

}  // namespace nyala
