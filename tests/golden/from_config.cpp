#include <stdexcept>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/tests/golden/from_config.h>

namespace nyala::golden {

const Json* JsonFields::find(const char* name) {
  const Json* const found = config_.find(name);
  if (!found) return nullptr;
  used_.insert(name);
  return found->is_null() ? nullptr : found;
}

void JsonFields::field(const char* name, ActivationArgument& value) {
  if (const Json* found = find(name)) value = ActivationArgument(found->get<std::string>());
}

void JsonFields::field(const char* name, Initializer& value) {
  if (const Json* found = find(name))
    value = make_initializer(found->at("class").as_string(), found->at("config"));
}

void JsonFields::field(const char* name, Regularizer& value) {
  if (const Json* found = find(name))
    value = make_regularizer(found->at("class").as_string(), found->at("config"));
}

void JsonFields::field(const char* name, Constraint& value) {
  if (const Json* found = find(name))
    value = make_constraint(found->at("class").as_string(), found->at("config"));
}

void JsonFields::optional(const char* name, int64_t& value, int64_t none) {
  if (config_.contains(name) && config_.at(name).is_null()) value = none;
  take(name, value);
}

std::vector<std::string> JsonFields::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : config_.items())
    if (!used_.contains(name)) names.push_back(name);
  return names;
}

void expect_all_used(const JsonFields& fields, const Json& config) {
  if (!fields.unused().empty())
    throw std::runtime_error("no field '" + fields.unused().front() + "' for " + config.dump());
}

Initializer make_initializer(const std::string& name, const Json& config) {
  return make_one<Initializer>(Initializers{}, name, config);
}

Regularizer make_regularizer(const std::string& name, const Json& config) {
  return make_one<Regularizer>(Regularizers{}, name, config);
}

Constraint make_constraint(const std::string& name, const Json& config) {
  return make_one<Constraint>(Constraints{}, name, config);
}

}  // namespace nyala::golden
