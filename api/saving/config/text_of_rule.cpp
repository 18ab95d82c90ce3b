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

}  // namespace

std::string text_of_rule(BaseOptimizer& optimizer,
                         const std::function<std::string(const Variable&)>& server_name) {
  Json rule = {{"optimizer", optimizer_to_json(optimizer)}, {"constraints", Json::object()}};
  for (const Variable& variable : optimizer.variables())
    if (variable.node().spec.constraint)
      rule["constraints"][server_name(variable)] = constraint_to_json(variable);
  return rule.dump();
}

}  // namespace nyala
