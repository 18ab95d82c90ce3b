#include <nyala/api/training/optimizer_variables.h>

#include <algorithm>
#include <set>

#include <nyala/api/model/model_node.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/backend/parameters/variable_changes.h>

namespace nyala {

namespace {

[[noreturn]] void throw_foreign_optimizer(const ModelNode& model) {
  const BaseOptimizer& optimizer = model.compiled_training().optimizer.node();
  throw StateError("model " + detail::in_quotes(model.name()) + ": its optimizer (" + optimizer.class_name() +
                   ") updates the variables of another model (" +
                   detail::in_quotes(optimizer.variables().front().path()) +
                   ", ...); give every model an optimizer of its own");
}

}  // namespace

Variables trained_tables(const Variables& variables) {
  Variables tables;
  std::ranges::copy_if(variables, std::back_inserter(tables), [](const Variable& variable) {
    return variable.trainable() && detail::is_remote_table(variable.node());
  });
  return tables;
}

void find_trained(CompiledTraining& compiled, const ParameterStore& store) {
  compiled.trained_leaves.assign(static_cast<size_t>(store.num_leaves()), false);
  for (const Variable& variable : compiled.optimizer.node().variables())
    compiled.trained_leaves[static_cast<size_t>(variable.node().leaf)] = true;
  for (const Variable& table : trained_tables(compiled.known))  // their optimizer is where they lie
    compiled.trained_leaves[static_cast<size_t>(table.node().leaf)] = true;
}

void build_optimizer(ModelNode& model) {
  CompiledTraining& compiled = model.compiled_training();
  compiled.looked_at = detail::variable_changes();
  model.check_variables();
  const Variables& known = compiled.optimizer.node().variables();
  Variables own = model.variables();
  if (!known.empty() && std::ranges::find_first_of(own, known) == own.end()) throw_foreign_optimizer(model);
  Variables trainable;
  for (const Variable& variable : own)
    if (model.trainable() && variable.trainable()) trainable.push_back(variable);
  compiled.optimizer.node().build(model.strategy()->store(), detail::without_remote_tables(trainable));
  compiled.known = std::move(own);
  find_trained(compiled, model.strategy()->store());
  detail::follow_functions(compiled.optimizer.shared(), model.strategy()->parameter_server_job());
}

namespace {

using Nodes = std::set<const VariableNode*>;

Nodes nodes_of(const Variables& variables) {
  Nodes nodes;
  for (const Variable& variable : variables) nodes.insert(&variable.node());
  return nodes;
}

/// Keras trains on without them, and says nothing.
void check_none_was_added(const ModelNode& model, const Variables& own, const Nodes& known) {
  if (model.overrides().train_step || !model.trainable())
    return;  // its own optimizers say what they do not know
  for (const Variable& variable : own)
    if (variable.trainable() && !known.contains(&variable.node()))
      throw StateError("model " + detail::in_quotes(model.name()) + ": the variable " +
                       detail::in_quotes(variable.path()) +
                       " came with a layer that was added after training had begun: its optimizer does not "
                       "know it, and would leave it as it is; compile() the model again");
}

}  // namespace

void follow_variables(ModelNode& model) {
  CompiledTraining& compiled = model.compiled_training();
  BaseOptimizer& optimizer = compiled.optimizer.node();
  const Variables& updated = optimizer.variables();
  const auto is_foreign = [&compiled](const Variable& variable) { return !compiled.trains(variable); };
  const uint64_t now = detail::variable_changes();
  if (compiled.looked_at != now) {
    const Variables own = model.variables();
    const Nodes known = nodes_of(compiled.known), held = nodes_of(own);
    const auto trained = std::ssize(updated) + std::ssize(trained_tables(compiled.known));
    if (std::ranges::count(compiled.trained_leaves, true) != trained) throw_foreign_optimizer(model);
    check_none_was_added(model, own, known);
    Variables still;
    for (const Variable& variable : updated) {
      if (!known.contains(&variable.node())) throw_foreign_optimizer(model);
      if (held.contains(&variable.node())) still.push_back(variable);
    }
    if (optimizer.accumulates_into_existing()) optimizer.shared_variables_for_file();  // throws for lost ones
    optimizer.build(model.strategy()->store(), still);
    find_trained(compiled, model.strategy()->store());
    compiled.looked_at = now;
  }
  if (!updated.empty() && (is_foreign(updated.front()) || is_foreign(updated.back())))
    throw_foreign_optimizer(model);
}

}  // namespace nyala
