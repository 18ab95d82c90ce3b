#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/api/base/class_name.h>
#include <nyala/api/base/fields.h>
#include <nyala/api/base/name_table.h>
#include <nyala/api/saving/config/load_scope.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// An object in a config: `{"class_name", "config"}`, or a bare name.
struct ConfigObject {
  std::string class_name;
  Json config = Json::object();
  std::string registered_name = {};
  std::string module = {};

  /// The name that it holds where it is a function, else "".
  std::string function_name() const {
    return class_name == "function" && config.is_string() ? config.get<std::string>() : "";
  }
};

/// As Keras takes a config of null, or none, for one without options. Throws FileFormatError naming `where`
/// for anything else.
ConfigObject object_of(const Json& json, const std::string& where);
/// What an entry of a graph or the config in it says as "name", else "".
std::string entry_name(const Json& json);
/// What is the user's own in such an object: one of custom_objects or, for what is not Keras' own, a
/// registered one. Empty where there is none.
CustomObject find_custom(const ConfigObject& object, const LoadScope& scope);
/// The same by the name of a function: a registered one with its package, since Keras' come first.
CustomObject find_custom_function(const std::string& name, const LoadScope& scope);
/// Logs one warning that names the options in the file `name` that nobody took.
void warn_of_unknown_options(const LoadScope& scope, const std::string& name);

/// The member `key` of an object. Throws FileFormatError naming `where`.
const Json& member_of(const Json& json, const std::string& key, const std::string& where);
/// Sizes and nulls, which become None.
Shape shape_of(const Json& json, const std::string& where);
/// The dtype of a layer's or object's config: a name or a policy; empty where there is none.
std::string policy_of(const Json& config, const std::string& where);

/// Sets the fields of a Config from what Keras' get_config() gave; absent ones keep their defaults. Null is a
/// value like others: of what may be None (optional(), lists and texts that are empty by default, and what
/// stands for an object). Throws FileFormatError naming `where` (the layer) and the key for another type of
/// value, and for classes that do not exist.
class ConfigReader final : public FieldVisitor {
 public:
  ConfigReader(const Json& config, const std::string& where, LoadScope& scope);
  ~ConfigReader();

  void field(const char* name, bool& value) override;
  void field(const char* name, int64_t& value) override;
  void field(const char* name, double& value) override;
  void field(const char* name, std::string& value) override;
  void field(const char* name, std::vector<int64_t>& value) override;
  void field(const char* name, std::vector<double>& value) override;
  void field(const char* name, std::vector<std::string>& value) override;
  void nested(const char* name, std::vector<double>& values, std::vector<int64_t>& shape) override;
  void field(const char* name, ActivationArgument& value) override;
  void field(const char* name, Initializer& value) override;
  void field(const char* name, Regularizer& value) override;
  void field(const char* name, Constraint& value) override;
  void field(const char* name, LearningRate& value) override;
  void field(const char* name, Layer& value) override;
  void field(const char* name, std::vector<Layer>& value) override;
  void optional(const char* name, double& value) override;
  void optional(const char* name, int64_t& value, int64_t none) override;
  void optional(const char* name, std::string& value) override;
  /// From the entry kBesideConfig, which the config was given by its envelope.
  void beside(const char* name, bool& value) override;

  const std::string& where() const { return where_; }
  /// Notes in the scope which keys no field took. `known` ones are not worth it, nor are null and false.
  void note_unused(std::initializer_list<std::string_view> known) const;

 private:
  /// The value of `name`, or none where it is absent.
  const Json* find_any(const char* name);
  /// The same, and none where it is null.
  const Json* find(const char* name);
  const Json* find_seed(const char* name);
  bool is_null(const char* name);
  /// A list, or one value for a list of it; null where it is empty by default.
  template <class T, class Convert>
  void read_list(const char* name, std::vector<T>& value, const Convert& convert);
  std::string place(const char* name) const { return where_ + ", " + detail::in_quotes(name); }

  const Json& config_;
  std::string where_;
  LoadScope& scope_;
  std::set<std::string> used_;
};

/// An object of class C, which has a Config, from its configuration.
template <class C>
C object_from_config(const Json& config, const std::string& where, LoadScope& scope) {
  if constexpr (requires { typename C::Config; }) {
    typename C::Config values;
    ConfigReader reader(config, where, scope);
    if constexpr (requires { values.name = std::string(); }) reader.field("name", values.name);
    values.fields(reader);
    reader.note_unused({"name", "dtype", "seed", "jit_compile"});
    return C(values);
  } else {
    return C();
  }
}

/// Objects of one kind by class name or its snake case.
template <class Handle>
class ObjectTable {
 public:
  template <class... Classes>
  explicit ObjectTable(std::string kind, ClassList<Classes...>) : kind_(std::move(kind)) {
    (add(detail::class_name_of<Classes>(),
         [](const Json& config, const std::string& where, LoadScope& scope) -> Handle {
           return object_from_config<Classes>(config, where, scope);
         }),
     ...);
  }

  bool has(const std::string& name) const { return makers_.contains(name); }
  /// Throws FileFormatError naming `where`, with the nearest name.
  Handle make(const ConfigObject& object, const std::string& where, LoadScope& scope) const {
    const auto found = makers_.find(object.class_name);
    const std::string place = where + " (" + object.class_name + ")";
    try {
      if (const CustomObject own = find_custom(object, scope); own.as<ObjectMaker<Handle>>())
        return make_custom(*own.as<ObjectMaker<Handle>>(), object.config, place, scope);
      if (found == makers_.end())
        throw FileFormatError(where + ": " + kind_ + " " + detail::in_quotes(object.class_name) +
                              " is none of Nyala's and none that was registered" +
                              detail::did_you_mean(object.class_name, names_) + "; a class of your own: " +
                              "register_serializable<" + object.class_name + ">(\"package\") before loading");
      return found->second(object.config, place, scope);
    } catch (const InvalidArgumentError& error) {
      throw FileFormatError(where + " (" + object.class_name + "): " + error.what());
    }
  }

 private:
  static Handle make_custom(const ObjectMaker<Handle>& maker, const Json& config, const std::string& where,
                            LoadScope& scope) {
    ConfigReader reader(config, where, scope);
    Handle made = maker(reader);
    reader.note_unused({"name", "dtype", "reduction", "seed", "ema_momentum"});
    return made;
  }

  using Maker = Handle (*)(const Json&, const std::string&, LoadScope&);
  void add(const std::string& name, Maker maker) {
    makers_[name] = makers_[detail::snake_case(name)] = maker;
    names_.push_back(name);
  }

  std::string kind_;
  std::map<std::string, Maker> makers_;
  std::vector<std::string> names_;
};

}  // namespace nyala
