#include <algorithm>

#include <nyala/api/model/model_node.h>
#include <nyala/api/optimizers/base/optimizer_node.h>
#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Rules for parts of the variables that an optimizer keeps; a program uses few.
constexpr size_t kMaxPartialUpdates = 8;

bool holds(const Variables& variables, const Variable& variable) {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

std::string paths_of(const Variables& variables) {
  std::vector<std::string> paths;
  for (const Variable& variable : variables) paths.push_back(variable.path());
  return quoted_list(paths);
}

void warn_of_missing(const BaseOptimizer& optimizer, const Variables& listed, const Variables& active) {
  Variables missing;
  for (const Variable& variable : listed)
    if (!holds(active, variable)) missing.push_back(variable);
  if (missing.empty()) return;
  log(LogChannel::warning, optimizer.class_name() + ": gradients do not exist for variables " +
                               paths_of(missing) + "; they keep their values");
}

void check_one_store(const ParameterStore& store, const Variables& listed) {
  for (const Variable& variable : listed)
    if (variable.node().owner.lock().get() != static_cast<const SegmentOwner*>(&store))
      throw StateError("apply_gradients: the variables " + in_quotes(listed[0].path()) + " and " +
                       in_quotes(variable.path()) + " belong to different strategies");
}

}  // namespace

void OptimizerNode::check_known(const Variables& listed) const {
  for (const Variable& variable : listed)
    if (!holds(variables(), variable))
      throw InvalidArgumentError(class_name() + ": unknown variable " + in_quotes(variable.path()) +
                                 "; an optimizer updates the variables that it was built with (" +
                                 std::to_string(variables().size()) +
                                 " here), make another one for other variables");
}

UpdateRule& OptimizerNode::rule_for(ParameterStore& store, const Variables& listed, const Variables& active) {
  check_one_store(store, listed);
  if (!built()) build(store, listed);
  follow(store);
  check_known(listed);
  if (active.size() == variables().size()) return *this;  // each is known and named once
  for (const auto& partial : partial_updates_)
    if (partial->variables() == active) return *partial;
  warn_of_missing(*this, listed, active);
  if (partial_updates_.size() == kMaxPartialUpdates) partial_updates_.erase(partial_updates_.begin());
  partial_updates_.push_back(std::make_unique<PartialUpdate>(*this, active));
  return *partial_updates_.back();
}

namespace {

/// In a step of a model: what the model does not hold is in none of its files.
void check_tracked(const BaseOptimizer& optimizer) {
  const RunningCall* const running = thread_context().running;
  if (!running || !running->is_step) return;
  const auto* model = dynamic_cast<const ModelNode*>(running->layer);
  if (!model || model->holds(optimizer)) return;
  throw StateError("model " + in_quotes(model->name()) + " (" + model->class_name() +
                   "): its step applies gradients by " + optimizer.class_name() +
                   ", which it does not hold: the optimizer's state would be in no file. Write the member as "
                   "`Optimizer d_optimizer = track_optimizer(\"d_optimizer\", " +
                   optimizer.class_name() + "(...));`");
}

/// Of a model, which has told by what its gradients are applied.
bool is_in_step() {
  const RunningCall* const running = thread_context().running;
  return running && running->is_step;
}

/// Once for an optimizer of a loop of the program's own; fit looks by itself.
void check_loop(StrategyNode& strategy, const Optimizer& optimizer, BaseOptimizer& rule,
                const Variables& variables) {
  ProcessExchange* const processes = strategy.processes();
  if (rule.compared || !processes || processes->is_apart()) return;
  check_alike(processes, facts_of_loop(strategy, optimizer, variables), "apply_gradients",
              MissingFact::is_ignored);
  rule.compared = true;
}

/// Under parameter servers.
void serve_gradients(StrategyNode& strategy, const std::shared_ptr<BaseOptimizer>& optimizer,
                     const Variables& variables) {
  ParameterServerJob* const job = strategy.parameter_server_job();
  if (!job) return;
  if (!optimizer->built()) optimizer->build(strategy.store(), variables);
  if (ProcessExchange* const all = strategy.processes())
    serve_in_loop(optimizer, *job, *all, variables);
  else
    serve_in_function(optimizer, *job, "apply_gradients");
}

}  // namespace

void Optimizer::build(const Variables& variables) const {
  if (variables.empty()) throw InvalidArgumentError("build: expected variables, received none");
  const std::shared_ptr<StrategyNode> strategy = strategy_of(variables[0]);
  check_one_store(strategy->store(), variables);
  node().build(strategy->store(), variables);
  follow_functions(node_, strategy->parameter_server_job());
}

void Optimizer::apply_gradients(const Tensors& gradients, const Variables& variables) const {
  BaseOptimizer& rule = node();
  check_tracked(rule);
  if (variables.empty())
    throw InvalidArgumentError("apply_gradients: expected gradients and variables, received none");
  const std::shared_ptr<StrategyNode> strategy = strategy_of(variables[0]);
  const std::shared_ptr<BaseOptimizer> kept = node_;
  const bool is_loop = !is_in_step();  // the program's own; replicas leave the step where they meet
  strategy->apply_gradients({&rule, gradients, variables, [&](const Variables& active) -> UpdateRule& {
                               if (is_loop) check_loop(*strategy, *this, rule, variables);
                               if (is_loop)
                                 serve_gradients(*strategy, kept, variables);
                               else
                                 serve_in_step(kept, strategy->parameter_server_job(), variables);
                               return rule.rule_for(strategy->store(), variables, active);
                             }});
}

Tensor Optimizer::scale_loss(const Tensor& loss) const { return loss * node().scale_for_loss(); }

void Optimizer::apply_gradients(const GradientsAndVariables& gradients_and_variables) const {
  Tensors gradients;
  Variables variables;
  for (const auto& [gradient, variable] : gradients_and_variables) {
    gradients.push_back(gradient);
    variables.push_back(variable);
  }
  apply_gradients(gradients, variables);
}

}  // namespace nyala
