#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

Json constraint_to_json(const Variable& variable) {
  const auto* const constraint = variable.node().spec.constraint.target<Constraint>();
  if (!constraint)
    throw InvalidArgumentError("ParameterServerStrategy: the constraint of variable " +
                               detail::in_quotes(variable.path()) +
                               " is a C++ function, which servers do not have; expected one of Keras' or a "
                               "ConstraintNode of your own that is registered (register_serializable)");
  ConfigWriter writer;
  Constraint written = *constraint;
  writer.field("constraint", written);
  return writer.config["constraint"];
}

/// The same optimizer has the same text everywhere and always: names count those of a program, and the rate
/// is state, which servers are given apart.
void forget_what_changes(Json& optimizer) {
  Json& config = optimizer["config"];
  config.erase("name");
  if (config.contains("learning_rate") && config["learning_rate"].is_number()) config.erase("learning_rate");
}

/// Optimizers of a MultiOptimizer go by their place, as in variables_for_servers().
void number_members(Json& map) {
  Json& entries = map["optimizer_map"];
  size_t place = 0;
  const auto number = [&place](Json& member) {
    forget_what_changes(member);
    member["config"]["name"] = std::to_string(place++);
  };
  const Json patterns = entries;
  for (const auto& [pattern, member] : patterns.items()) number(entries[pattern]);
  number(map["default_optimizer"]);
}

}  // namespace

std::string text_of_rule(BaseOptimizer& optimizer, bool lazy_rows,
                         const std::function<std::string(const Variable&)>& server_name) {
  Json rule = {
      {"optimizer", optimizer_to_json(optimizer)}, {"constraints", Json::object()}, {"lazy_rows", lazy_rows}};
  forget_what_changes(rule["optimizer"]);
  if (Json& config = rule["optimizer"]["config"]; config.contains("optimizer_map"))
    number_members(config["optimizer_map"]["config"]);
  for (const Variable& variable : optimizer.variables())
    if (variable.node().spec.constraint)
      rule["constraints"][server_name(variable)] = constraint_to_json(variable);
  return rule.dump();
}

}  // namespace nyala
