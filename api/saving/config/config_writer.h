#pragma once

#include <typeinfo>

#include <nyala/api/base/fields.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// `{"module", "class_name", "config", "registered_name"}`: how Keras writes an object of its own.
Json envelope(const std::string& module, const std::string& class_name, Json config);

/// The same for an object that may be of a class of the user's: then the module is absent and the registered
/// name is "package>class", or the class alone for one that is not registered, which is noted (SaveNotes).
/// `type` is that of the object, `module` Keras' for its kind.
Json envelope_of(const std::type_info& type, const std::string& module, const std::string& class_name,
                 Json config);

/// A registered function as Keras writes it. `name` with its package.
Json function_envelope(const std::string& name);

/// The entry of an envelope that holds what only Nyala has; Keras reads envelopes by their known entries.
inline constexpr const char* kBesideConfig = "nyala";

/// Writes the fields of a Config as Keras' get_config() gives them: what is absent becomes null, objects
/// become envelopes. Throws InvalidArgumentError for what no file can hold (a C++ function), naming the
/// field.
class ConfigWriter final : public FieldVisitor {
 public:
  void field(const char* name, bool& value) override { config[name] = value; }
  void field(const char* name, int64_t& value) override { config[name] = value; }
  void field(const char* name, double& value) override { config[name] = value; }
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
  void when_set(const char* name, double& value) override;
  void when_set(const char* name, int64_t& value, int64_t none) override;
  void beside(const char* name, bool& value) override;

  Json config = Json::object();
  /// What Keras has not, where it is not the default (false): for the entry kBesideConfig of an envelope.
  Json own = Json::object();
};

/// The configuration of anything with `fields(visitor)`.
template <class Node>
Json config_of(Node& node) {
  ConfigWriter writer;
  node.fields(writer);
  return std::move(writer.config);
}

}  // namespace nyala
