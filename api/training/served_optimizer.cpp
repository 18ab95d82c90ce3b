// An optimizer that parameter servers apply. What they know of it are its JSON and its tensors.
#include <nyala/api/training/served_optimizer.h>

#include <algorithm>
#include <map>
#include <string>

#include <nyala/api/model/model_node.h>
#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/optimizers/base/update_formula.h>
#include <nyala/api/optimizers/multi_optimizer.h>
#include <nyala/api/training/optimizer_numbers.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

/// Each server sees its own variables' gradients, and of variables that are cut its parts'.
void detail::check_can_be_served(BaseOptimizer& optimizer, const RemoteParameters& parameters) {
  const std::string who = "ParameterServerStrategy: " + optimizer.class_name();
  if (const auto* group = dynamic_cast<const OptimizerGroup*>(&optimizer)) {
    if (!group->optimizer_map())
      throw InvalidArgumentError(
          who +
          " scales the loss in the workers by what servers learn of the "
          "gradients; expected its inner optimizer alone (compile of a model of policy "
          "mixed_float16 with .auto_scale_loss = false)");
    if (group->members().size() != group->optimizer_map()->entries().size() + 1)
      throw InvalidArgumentError(who +
                                 ": servers have an optimizer for each pattern, and one stands for several; "
                                 "expected one pattern for each, 'this|that'");
    if (parameters.has_parts())
      throw InvalidArgumentError(who +
                                 " knows variables by their names, and variable_partitioner cuts some; "
                                 "leave it out");
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

namespace {

std::string rule_for_servers(BaseOptimizer& optimizer, RemoteParameters& parameters) {
  return text_of_rule(optimizer, parameters.has_lazy_rows(), [&](const Variable& variable) {
    if (parameters.is_cut(variable))
      throw InvalidArgumentError(
          "ParameterServerStrategy: the constraint of variable " + in_quotes(variable.path()) +
          " looks at the whole of it, and variable_partitioner cuts it; leave one out");
    return parameters.server_name(variable);
  });
}

void take_state(BaseOptimizer& optimizer, const std::map<std::string, Tensor>& state) {
  Tensors values;
  for (const OptimizerVariable& variable : variables_for_servers(optimizer)) {
    const auto found = state.find(variable.name);
    values.push_back(found == state.end() ? variable.value : found->second);
  }
  optimizer.load_variables(values);
}

}  // namespace

std::vector<OptimizerVariable> detail::variables_for_servers(const BaseOptimizer& optimizer) {
  std::vector<OptimizerVariable> all = optimizer.shared_variables_for_file();
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer);
  if (!group) return all;
  auto of_member = all.end();  // behind those of the group itself
  for (size_t i = group->members().size(); i-- > 0;) {
    const auto own = group->members()[i].node().shared_variables_for_file();
    of_member -= std::ssize(own);
    for (size_t k = 0; k < own.size(); ++k)
      of_member[static_cast<std::ptrdiff_t>(k)].name = std::to_string(i) + "/" + own[k].name;
  }
  return all;
}

RemoteParameters::Rates detail::rates_for_servers(const BaseOptimizer& optimizer) {
  constexpr double kSchedule = -1.0;
  RemoteParameters::Rates rates;
  if (const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer))
    for (const Optimizer& member : group->members()) rates.push_back(rates_for_servers(member.node()).at(0));
  else
    rates.push_back(optimizer.options().learning_rate.is_schedule() ? kSchedule : optimizer.learning_rate());
  return rates;
}

bool detail::give_rule_to_servers(BaseOptimizer& optimizer, const Variables& tables,
                                  RemoteParameters& parameters, bool if_none, const std::string& name) {
  Variables updated = optimizer.variables();
  updated.insert(updated.end(), tables.begin(), tables.end());
  return parameters.set_rule({.text = rule_for_servers(optimizer, parameters),
                              .no_decay = optimizer.excluded_from_weight_decay(),
                              .variables = std::move(updated),
                              .name = name},
                             if_none);
}

void detail::give_state_to_servers(const BaseOptimizer& optimizer, RemoteParameters& parameters, bool if_new,
                                   const std::string& name) {
  std::map<std::string, Tensor> state;
  for (const OptimizerVariable& variable : variables_for_servers(optimizer))
    state[variable.name] = variable.value;
  parameters.load_rule_state(state, if_new, name);
}

void detail::take_state_from_servers(BaseOptimizer& optimizer, RemoteParameters& parameters) {
  take_state(optimizer, parameters.rule_state().tensors);
}

std::vector<NamedOptimizer> detail::own_optimizers_of(const ModelNode& model) {
  std::vector<NamedOptimizer> own;
  for (const auto& [attribute, optimizer] : model.own_optimizers())
    own.push_back({model.name() + "." + attribute, optimizer});
  return own;
}

void detail::give_own_optimizer(const NamedOptimizer& own, RemoteParameters& parameters) {
  BaseOptimizer& optimizer = own.optimizer.node();
  check_can_be_served(optimizer, parameters);
  if (optimizer.built()) {
    give_rule_to_servers(optimizer, {}, parameters, false, own.name);
    give_state_to_servers(optimizer, parameters, false, own.name);
  } else {
    parameters.set_learning_rates(rates_for_servers(optimizer), own.name);
  }
}

// Built as a step on one device builds it: variables in the order of the model.
void detail::take_own_optimizer(const NamedOptimizer& own, const ModelNode& model,
                                RemoteParameters& parameters) {
  const RemoteParameters::RuleState rule = parameters.rule_state(own.name);
  if (rule.text.empty()) return;
  Variables updated = model.variables();
  std::erase_if(updated, [&](const Variable& variable) {
    return std::ranges::find(rule.variables, variable) == rule.variables.end();
  });
  BaseOptimizer& optimizer = own.optimizer.node();
  if (!optimizer.built() || optimizer.variables() != updated)
    optimizer.build(model.strategy()->store(), updated);
  take_state(optimizer, rule.tensors);
}

namespace {

/// The entry of `known` that stands for `optimizer`.
template <class Entries>
auto find_served(Entries& known, const std::shared_ptr<BaseOptimizer>& optimizer) {
  return std::ranges::find_if(known, [&](const auto& entry) { return entry.optimizer.lock() == optimizer; });
}

[[noreturn]] void throw_second_optimizer(const BaseOptimizer& optimizer, const std::string& what) {
  throw StateError(what + ": parameter servers apply the gradients of one optimizer, and " +
                   optimizer.class_name() +
                   " is a second one; MultiOptimizer joins several, which have variables each");
}

}  // namespace

namespace {

/// Steps and rates of `optimizer` are the servers' of now: inside a batch or a function of a worker, and
/// inside a walk of a loop, whose rates are the program's.
void bring_numbers(BaseOptimizer& optimizer, ParameterServerJob& job, BaseOptimizer::Access access) {
  RemoteParameters& parameters = job.parameters();
  const bool reads = access == BaseOptimizer::Access::reads;
  const auto is_it = [&](const std::weak_ptr<const void>& known) { return known.lock().get() == &optimizer; };
  const auto is_of_it = [&](const auto& entry) { return is_it(entry.optimizer); };
  const auto loop = std::ranges::find_if(job.loop_optimizers, is_of_it);
  const bool is_away = loop != job.loop_optimizers.end() && loop->has_applied;
  if (is_away && reads && loop->times_loaded == optimizer.times_loaded())
    return take_steps(optimizer, "", numbers_of_servers(parameters, loop->rule));
  if (!parameters.has_numbered_exchanges()) return;
  const auto own = std::ranges::find_if(job.own_optimizers, is_of_it);
  const bool is_own = own != job.own_optimizers.end();
  if (!is_own && !job.served_optimizer.expired() && !is_it(job.served_optimizer)) return;
  if (!reads)
    throw StateError(
        "set_learning_rate: a worker of ParameterServerStrategy cannot set the rate of " +
        optimizer.class_name() +
        " while it trains a batch or carries out a function, since all workers share it; expected a call in "
        "the chief: in a callback of fit(), or between two schedule()");
  take_numbers(optimizer, "", numbers_of_servers(parameters, is_own ? own->rule : std::string()));
}

}  // namespace

void detail::count_by_servers(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job) {
  set_catch_up(*optimizer,
               [job = job.weak_from_this(), &optimizer = *optimizer](BaseOptimizer::Access access) {
                 if (const std::shared_ptr<ParameterServerJob> alive = job.lock())
                   bring_numbers(optimizer, *alive, access);
               });
}

// In a synchronous step each time: a server that goes back may have lost it. Who finds it there already knows
// that whoever brought it brings its state before all meet.
void detail::serve_in_step(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob* job,
                           const Variables& listed) {
  if (!job) return;
  RemoteParameters& parameters = job->parameters();
  const std::shared_ptr<const void> served = job->served_optimizer.lock();
  if (!served || served == optimizer) return parameters.use_rule({});
  const auto own = find_served(job->own_optimizers, optimizer);
  if (own == job->own_optimizers.end()) throw_second_optimizer(*optimizer, "apply_gradients");
  parameters.use_rule(own->rule);
  if (own->is_given && !parameters.is_in_step()) return;
  if (!optimizer->built()) optimizer->build(strategy_of(listed.at(0))->store(), listed);
  check_can_be_served(*optimizer, parameters);
  const bool is_new = give_rule_to_servers(*optimizer, {}, parameters, true, own->rule);
  if (is_new || !own->is_given) give_state_to_servers(*optimizer, parameters, true, own->rule);
  own->is_given = true;
}

// Whoever comes first brings what it has, a state that was read from a file, too: the same in all workers.
void detail::serve_in_function(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                               const char* what) {
  if (job.parameters().function() == 0)
    throw StateError(std::string(what) +
                     ": under ParameterServerStrategy gradients are applied by fit(), in a function that "
                     "ClusterCoordinator schedules and a worker carries out, or, where `synchronous` is set, "
                     "inside strategy.run()");
  job.parameters().use_rule({});
  if (job.served_optimizer.lock() == optimizer) return;
  if (!job.served_optimizer.expired()) throw_second_optimizer(*optimizer, what);
  check_can_be_served(*optimizer, job.parameters());
  give_rule_to_servers(*optimizer, {}, job.parameters(), true);
  give_state_to_servers(*optimizer, job.parameters(), true);
  job.served_optimizer = optimizer;
  count_by_servers(optimizer, job);
}

namespace {

/// Those of `rates` that are others than `known`: what the program has set since holds.
void set_rates(BaseOptimizer& optimizer, const RemoteParameters::Rates& rates,
               const RemoteParameters::Rates& known) {
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer);
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] < 0.0 || rates[i] == known.at(i)) continue;
    (group ? group->members()[i].node() : optimizer).set_learning_rate(rates[i]);
  }
}

void take_loop_optimizers(ParameterServerJob& job) {
  for (ParameterServerJob::LoopOptimizer& own : job.loop_optimizers) {
    const auto optimizer = std::static_pointer_cast<const BaseOptimizer>(own.optimizer.lock());
    if (!optimizer || !std::exchange(own.has_applied, false)) continue;
    const RemoteParameters::Rates rates = rates_for_servers(*optimizer);
    take_state(const_cast<BaseOptimizer&>(*optimizer), job.parameters().rule_state(own.rule).tensors);
    own.times_loaded = optimizer->times_loaded();
    set_rates(const_cast<BaseOptimizer&>(*optimizer), rates, own.rates);
  }
}

/// What the program has changed here since: the same in all processes, the chief says it.
void give_changes_of_loop(const BaseOptimizer& optimizer, ParameterServerJob::LoopOptimizer& own,
                          RemoteParameters& parameters) {
  parameters.publish();
  if (own.times_loaded != optimizer.times_loaded()) {
    give_state_to_servers(optimizer, parameters, false, own.rule);
    own.times_loaded = optimizer.times_loaded();
    own.rates = rates_for_servers(optimizer);
  }
  const RemoteParameters::Rates rates = rates_for_servers(optimizer);
  if (rates != std::exchange(own.rates, rates)) parameters.set_learning_rates(rates, own.rule);
}

}  // namespace

void detail::serve_in_loop(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                           ProcessExchange& all, const Variables& variables) {
  RemoteParameters& parameters = job.parameters();
  auto own = find_served(job.loop_optimizers, optimizer);
  if (job.is_chief()) job.coordinator().wait_until_left();
  if (own == job.loop_optimizers.end()) {
    check_can_be_served(*optimizer, parameters);
    if (job.loop_optimizers.empty()) parameters.restarts();  // from now on each is one too many
    const std::string rule = "loop." + std::to_string(job.loop_optimizers.size() + 1);
    if (job.is_chief()) {  // behind a fit() it alone has the state; all meet before anything is applied
      give_rule_to_servers(*optimizer, {}, parameters, false, rule);
      give_state_to_servers(*optimizer, parameters, false, rule);
    }
    job.loop_optimizers.push_back({.optimizer = optimizer,
                                   .rule = rule,
                                   .rates = rates_for_servers(*optimizer),
                                   .times_loaded = optimizer->times_loaded()});
    own = std::prev(job.loop_optimizers.end());
    count_by_servers(optimizer, job);
    job.take_loop_optimizers = [&job] { take_loop_optimizers(job); };
  }
  parameters.check_has_no_sums();
  if (job.is_chief())
    give_changes_of_loop(*optimizer, *own, parameters);
  else
    own->rates = rates_for_servers(*optimizer);
  own->has_applied = true;
  parameters.use_rule(own->rule);
  uint64_t number = 0;
  for (const Variable& variable : variables) number = mix_key(number, parameters.server_name(variable));
  parameters.begin_loop_step({.piece = all.rank(), .pieces = all.size()}, [&all, number] {
    all.agree(number, "the variables that a loop applies gradients to");
  });
}

namespace {

/// An optimizer of the chief's, which may be gone, while workers' functions apply gradients by it.
class FollowingOptimizer final : public FollowsFunctions {
 public:
  FollowingOptimizer(const std::shared_ptr<BaseOptimizer>& optimizer, RemoteParameters& parameters)
      : optimizer_(optimizer), parameters_(parameters), rates_(rates_for_servers(*optimizer)) {}

  bool publish() override {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (!optimizer || is_as_published(*optimizer)) return false;
    if (has_loaded(*optimizer) || !is_served_by(*optimizer, parameters_.rule_state())) {
      check_can_be_served(*optimizer, parameters_);
      give_rule_to_servers(*optimizer, {}, parameters_, true);
      give_state_to_servers(*optimizer, parameters_);
    }
    give_rate(*optimizer);
    times_loaded_ = optimizer->times_loaded();
    return true;
  }
  void restarted() override {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (optimizer && has_given_) give_rate(*optimizer);
  }
  void take_over() override {
    const std::shared_ptr<BaseOptimizer> optimizer = optimizer_.lock();
    if (!optimizer) return;
    publish();
    const RemoteParameters::RuleState rule = parameters_.rule_state();
    if (!is_served_by(*optimizer, rule)) return;
    take_state(*optimizer, rule.tensors);
    times_loaded_ = optimizer->times_loaded();
  }

 private:
  bool has_loaded(const BaseOptimizer& optimizer) const { return optimizer.times_loaded() != times_loaded_; }
  bool is_as_published(const BaseOptimizer& optimizer) const {
    return !has_loaded(optimizer) && rates_for_servers(optimizer) == rates_;
  }
  bool is_served_by(BaseOptimizer& optimizer, const RemoteParameters::RuleState& rule) const {
    return rule.text == rule_for_servers(optimizer, parameters_) &&
           std::ranges::all_of(variables_for_servers(optimizer), [&](const OptimizerVariable& variable) {
             return rule.tensors.contains(variable.name);
           });
  }
  void give_rate(const BaseOptimizer& optimizer) {
    rates_ = rates_for_servers(optimizer);
    has_given_ = true;
    parameters_.set_learning_rates(rates_);
  }

  std::weak_ptr<BaseOptimizer> optimizer_;
  RemoteParameters& parameters_;
  RemoteParameters::Rates rates_;
  uint64_t times_loaded_ = 0;  // what servers know of
  bool has_given_ = false;
};

}  // namespace

void detail::follow_functions(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob* job) {
  if (!job) return;
  if (!job->is_chief()) return count_by_servers(optimizer, *job);
  auto& follower = job->chief_of_functions().followers[optimizer];
  if (!follower) follower = std::make_unique<FollowingOptimizer>(optimizer, job->parameters());
}

}  // namespace nyala
