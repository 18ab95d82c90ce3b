#pragma once

#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

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
             std::is_same_v<Said, decltype(&OptimizerNode::class_name)> ||
             std::is_same_v<Said, decltype(&LearningRateScheduleNode::class_name)> ||
             std::is_same_v<Said, decltype(&InitializerNode::class_name)> ||
             std::is_same_v<Said, decltype(&RegularizerNode::class_name)> ||
             std::is_same_v<Said, decltype(&ConstraintNode::class_name)>);
  } else {
    return true;  // cannot be named from here: not public
  }
}

/// `type` is that of the objects that the file names; null for a function.
void register_object(const std::string& package, const std::string& name, CustomObject object,
                     const std::type_info* type);

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

namespace detail {

/// "package>Class" for objects of a registered class, "package>name" for a registered function, else "".
std::string registered_name_of(const std::type_info& type);
std::string registered_name_of(const ActivationArgument::Function& function);
std::string registered_name_of(const LossFunction& function);
/// What is registered as "package>name", or in any package as "name"; empty where there is nothing.
CustomObject registered_object(const std::string& name);

/// The name without its package.
std::string without_package(const std::string& name);

/// An object of this kind by the name of a registered class, with its default configuration, or of a
/// registered function; nothing where there is none.
template <class Handle>
std::optional<Handle> registered(const std::string& name);

}  // namespace detail

}  // namespace nyala
