// An optimizer that parameter servers apply. What they know of it are its JSON and its tensors.
#include <nyala/api/training/served_optimizer.h>

#include <map>
#include <string>

#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/optimizers/base/update_formula.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/backend/core/error.h>

namespace nyala {

/// Each server sees its own variables' gradients, and of variables that are cut its parts'.
void detail::check_can_be_served(BaseOptimizer& optimizer, const detail::RemoteParameters& parameters) {
  const std::string who = "ParameterServerStrategy: " + optimizer.class_name();
  if (const auto* group = dynamic_cast<const OptimizerGroup*>(&optimizer)) {
    if (!group->optimizer_map())
      throw InvalidArgumentError(who +
                                 " scales the loss in the workers by what servers learn of the "
                                 "gradients; expected its inner optimizer alone");
    for (const Optimizer& member : group->members()) check_can_be_served(member.node(), parameters);
    return;
  }
  if (optimizer.options().global_clipnorm > 0 && parameters.num_servers() > 1)
    throw InvalidArgumentError(who +
                               ": global_clipnorm looks at all gradients of a step; expected one parameter "
                               "server, there are " +
                               std::to_string(parameters.num_servers()) + "; clipnorm or clipvalue work");
  const auto* formula = dynamic_cast<const UpdateFormula*>(&optimizer);
  const bool takes_whole = optimizer.options().clipnorm > 0 || (formula && formula->takes_whole_variables());
  if (takes_whole && parameters.has_parts())
    throw InvalidArgumentError(who + (optimizer.options().clipnorm > 0 ? " with clipnorm" : "") +
                               " looks at whole variables, and variable_partitioner cuts some; leave it out");
}

void detail::give_rule_to_servers(BaseOptimizer& optimizer, const Variables& tables,
                                  RemoteParameters& parameters, bool if_none) {
  Variables updated = optimizer.variables();
  updated.insert(updated.end(), tables.begin(), tables.end());
  const auto server_name = [&](const Variable& variable) {
    if (parameters.is_cut(variable))
      throw InvalidArgumentError(
          "ParameterServerStrategy: the constraint of variable " + in_quotes(variable.path()) +
          " looks at the whole of it, and variable_partitioner cuts it; leave one out");
    return parameters.server_name(variable);
  };
  parameters.set_rule(text_of_rule(optimizer, server_name), optimizer.excluded_from_weight_decay(), updated,
                      if_none);
}

void detail::give_state_to_servers(const BaseOptimizer& optimizer, RemoteParameters& parameters,
                                   bool if_new) {
  std::map<std::string, Tensor> state;
  for (const OptimizerVariable& variable : optimizer.shared_variables_for_file())
    state[variable.name] = variable.value;
  parameters.load_rule_state(state, if_new);
}

void detail::take_state_from_servers(BaseOptimizer& optimizer, RemoteParameters& parameters) {
  const std::map<std::string, Tensor> state = parameters.rule_state();
  Tensors values;
  for (const OptimizerVariable& variable : optimizer.shared_variables_for_file()) {
    const auto found = state.find(variable.name);
    values.push_back(found == state.end() ? variable.value : found->second);
  }
  optimizer.load_variables(values);
}

// Whoever comes first brings what it has, a state that was read from a file, too: the same in all workers.
void detail::serve_in_function(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                               const char* what) {
  if (job.parameters().function() == 0)
    throw StateError(std::string(what) +
                     ": under ParameterServerStrategy gradients are applied by fit(), or in a function that "
                     "ClusterCoordinator schedules and a worker carries out");
  const std::shared_ptr<const void> served = job.served_optimizer.lock();
  if (served == optimizer) return;
  if (served)
    throw StateError(std::string(what) + ": parameter servers apply the gradients of one optimizer, and " +
                     optimizer->class_name() +
                     " is a second one; MultiOptimizer joins several, which have variables each");
  check_can_be_served(*optimizer, job.parameters());
  give_rule_to_servers(*optimizer, {}, job.parameters(), true);
  give_state_to_servers(*optimizer, job.parameters(), true);
  job.served_optimizer = optimizer;
}

namespace {

/// Of an optimizer that may be gone.
class FollowingOptimizer {
 public:
  FollowingOptimizer(const std::shared_ptr<BaseOptimizer>& optimizer, detail::RemoteParameters& parameters)
      : optimizer_(optimizer), parameters_(parameters), rate_(optimizer->learning_rate()) {}

  void publish() {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (!optimizer || optimizer->options().learning_rate.is_schedule() ||
        optimizer->learning_rate() == rate_ || parameters_.rule_state().empty())
      return;
    give_rate(*optimizer);
  }
  void restarted() {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (optimizer && has_given_) give_rate(*optimizer);
  }
  void take_over() {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (!optimizer) return;
    publish();
    detail::take_state_from_servers(*optimizer, parameters_);
  }

 private:
  void give_rate(const BaseOptimizer& optimizer) {
    rate_ = optimizer.learning_rate();
    has_given_ = true;
    parameters_.set_learning_rate(rate_);
  }

  std::weak_ptr<BaseOptimizer> optimizer_;
  detail::RemoteParameters& parameters_;
  double rate_;
  bool has_given_ = false;
};

}  // namespace

void detail::follow_functions(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job) {
  const auto follower = std::make_shared<FollowingOptimizer>(optimizer, job.parameters());
  job.chief_of_functions().followers.push_back(
      {[follower] { follower->publish(); }, [follower] { follower->take_over(); },
       [follower] { follower->restarted(); }});
}

}  // namespace nyala
