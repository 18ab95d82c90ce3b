#pragma once

#include <set>
#include <string>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/api/base/name_table.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {

/// Sets the fields of a Config from a JSON object of Keras' constructor arguments; those that it lacks keep
/// their defaults.
class JsonFields final : public FieldVisitor {
 public:
  explicit JsonFields(const Json& config) : config_(config) {}

  void field(const char* name, bool& value) override { take(name, value); }
  void field(const char* name, int64_t& value) override { take(name, value); }
  void field(const char* name, double& value) override { take(name, value); }
  void field(const char* name, std::string& value) override { take(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override { take_list(name, value); }
  void field(const char* name, std::vector<double>& value) override { take_list(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { take_list(name, value); }
  void field(const char* name, ActivationArgument& value) override;
  void field(const char* name, Initializer& value) override;
  void field(const char* name, Regularizer& value) override;
  void field(const char* name, Constraint& value) override;
  void optional(const char* name, double& value) override { take(name, value); }
  void optional(const char* name, int64_t& value, int64_t none) override;
  void optional(const char* name, std::string& value) override {
    if (config_.contains(name) && config_.at(name).is_null()) value.clear();
    take(name, value);
  }

  /// The keys that no field took.
  std::vector<std::string> unused() const;

 private:
  /// The value of `name`, or null where there is none.
  const Json* find(const char* name);

  template <class T>
  void take(const char* name, T& value) {
    if (const Json* found = find(name)) value = found->get<T>();
  }
  template <class T>
  void take_list(const char* name, std::vector<T>& value) {
    if (const Json* found = find(name)) {
      value.clear();
      append(*found, value);
    }
  }

  /// One number stands for a list of it; nested lists become flat.
  template <class T>
  static void append(const Json& from, std::vector<T>& to) {
    if (from.is_array()) {
      for (const Json& item : from) append(item, to);
    } else {
      to.push_back(from.get<T>());
    }
  }

  const Json& config_;
  std::set<std::string> used_;
};

/// Throws std::runtime_error naming keys of `config` that the class has no field for.
void expect_all_used(const JsonFields& fields, const Json& config);

/// An object of class C from Keras' constructor arguments.
template <class C>
C from_config(const Json& config) {
  if constexpr (requires { typename C::Config; }) {
    typename C::Config values;
    Json rest = config;
    if constexpr (requires { values.name = std::string(); }) {
      values.name = rest.value("name", values.name);
      rest.erase("name");
    }
    JsonFields fields(rest);
    values.fields(fields);
    expect_all_used(fields, rest);
    return C(values);
  } else {
    expect_all_used(JsonFields(config), config);
    return C();
  }
}

/// The object of the class of `list` that has Keras' name `name`.
template <class Handle, class... Classes>
Handle make_one(ClassList<Classes...>, const std::string& name, const Json& config) {
  Handle result;
  ((Classes().node().class_name() == name ? void(result = from_config<Classes>(config)) : void()), ...);
  if (!result) throw std::runtime_error("golden data: no class " + name);
  return result;
}

Initializer make_initializer(const std::string& name, const Json& config);
Regularizer make_regularizer(const std::string& name, const Json& config);
Constraint make_constraint(const std::string& name, const Json& config);

}  // namespace nyala::golden
