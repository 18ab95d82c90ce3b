#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <nyala/api/base/class_name.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/saving/config/custom_object.h>

namespace nyala {

namespace detail {

/// Whether T itself, or a base of the user's, says its class name: not one of Nyala's bases.
template <class T>
constexpr bool names_its_class() {
  if constexpr (requires { &T::class_name; }) {
    using Said = decltype(&T::class_name);
    return !(std::is_same_v<Said, decltype(&LayerNode::class_name)> ||
             std::is_same_v<Said, decltype(&ModelNode::class_name)> ||
             std::is_same_v<Said, decltype(&LossNode::class_name)> ||
             std::is_same_v<Said, decltype(&MetricNode::class_name)> ||
             std::is_same_v<Said, decltype(&BaseOptimizer::class_name)> ||
             std::is_same_v<Said, decltype(&LearningRateScheduleNode::class_name)> ||
             std::is_same_v<Said, decltype(&InitializerNode::class_name)> ||
             std::is_same_v<Said, decltype(&RegularizerNode::class_name)> ||
             std::is_same_v<Said, decltype(&ConstraintNode::class_name)>);
  } else {
    return true;  // cannot be named from here: not public
  }
}

}  // namespace detail

/// Lets files hold objects of a user's class under "package>Class": `register_serializable<MyLayer>("mine")`
/// before load_model. Its class_name() is the name of the C++ class. Such a class is also found by its name
/// wherever a name will do: `.loss = "MyLoss"`. Registering again replaces. Thread-safe.
template <class T>
void register_serializable(const std::string& package = "Custom") {
  static_assert(detail::names_its_class<T>(),
                "register_serializable<T>: files know T by its class name, and T does not say it; write "
                "`std::string class_name() const override { return \"T\"; }`");
  detail::register_object(package, detail::class_name_of<T>(), custom_object<T>(), &typeid(T));
}

/// The same for a function: an activation, Tensor(const Tensor& x), or a loss or metric, Tensor(const Tensor&
/// y_true, const Tensor& y_pred): `register_serializable("mine", "my_loss", my_loss)`. Layers and compile()
/// take the function itself or its name. A file knows the function by its address, a lambda without captures
/// by its type; one with captures is to be given by name.
template <ActivationFunction F>
void register_serializable(const std::string& package, const std::string& name, F function) {
  detail::register_object(package, name, CustomObject(std::move(function)), nullptr);
}
template <TwoTensorFunction F>
void register_serializable(const std::string& package, const std::string& name, F function) {
  detail::register_object(package, name, CustomObject(std::move(function)), nullptr);
}

}  // namespace nyala
