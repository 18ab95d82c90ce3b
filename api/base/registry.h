#pragma once

#include <functional>
#include <optional>
#include <string>
#include <typeinfo>

#include <nyala/api/base/custom_object.h>

/// What register_serializable() knows: a user's classes and functions by name. Names of losses, initializers
/// and so on are looked up here, too.
namespace nyala::detail {

/// `type` is that of the objects that the file names; null for a function.
void register_object(const std::string& package, const std::string& name, CustomObject object,
                     const std::type_info* type);

/// "package>Class" for objects of a registered class, "package>name" for a registered function, else "".
std::string registered_name_of(const std::type_info& type);
std::string registered_name_of(const std::function<Tensor(const Tensor&)>& activation);
std::string registered_name_of(const std::function<Tensor(const Tensor&, const Tensor&)>& loss);
/// What is registered as "package>name", or in any package as "name"; empty where there is nothing.
CustomObject registered_object(const std::string& name);

/// The name without its package.
std::string without_package(const std::string& name);

/// Leaves every field as it is.
FieldVisitor& default_fields();

/// An object of this kind by the name of a registered class, with its default configuration; nothing where
/// there is none.
template <class Handle>
std::optional<Handle> registered(const std::string& name) {
  const CustomObject object = registered_object(name);
  const auto* const maker = object.as<ObjectMaker<Handle>>();
  if (!maker) return {};
  return (*maker)(default_fields());
}

}  // namespace nyala::detail
