#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala {
class ModelNode;
}

namespace nyala::detail {

/// Throws InvalidArgumentError for an optimizer that servers cannot apply as one device does.
void check_can_be_served(BaseOptimizer& optimizer, const RemoteParameters& parameters);

/// Its tensors with the names that servers have for them: where it has several optimizers (MultiOptimizer)
/// each one's are behind its place, "1/iteration".
std::vector<OptimizerVariable> variables_for_servers(const BaseOptimizer& optimizer);
/// Of each of its optimizers.
RemoteParameters::Rates rates_for_servers(const BaseOptimizer& optimizer);

/// Servers apply gradients by `optimizer`, which is built, from now on; `tables` lie on them alone.
/// `if_none`: unless another one does so already, which is a StateError. `name`: the servers' of the rule.
/// Whether some server did not have it.
bool give_rule_to_servers(BaseOptimizer& optimizer, const Variables& tables, RemoteParameters& parameters,
                          bool if_none = false, const std::string& name = {});
/// Iteration, rate and slots. `if_new`: to servers that have not applied anything by the rule yet.
void give_state_to_servers(const BaseOptimizer& optimizer, RemoteParameters& parameters, bool if_new = false,
                           const std::string& name = {});
/// Those that servers have.
void take_state_from_servers(BaseOptimizer& optimizer, RemoteParameters& parameters);

/// What servers call the rules of the model's own optimizers (ModelNode::own_optimizers()).
struct NamedOptimizer {
  std::string name;
  Optimizer optimizer;
};
std::vector<NamedOptimizer> own_optimizers_of(const ModelNode& model);
/// The chief's, before a training: those that are built bring what they have, of others the rate is that of
/// here as soon as workers bring them.
void give_own_optimizer(const NamedOptimizer& own, RemoteParameters& parameters);
/// Its state becomes that of the servers; where they have it and it is not built here it is. `model` holds
/// its variables.
void take_own_optimizer(const NamedOptimizer& own, const ModelNode& model, RemoteParameters& parameters);

/// Gradients are about to be applied by `optimizer`, which is built, outside of fit: servers are told, once.
/// `what` names the call. Throws StateError out of a function that ClusterCoordinator schedules, and for a
/// second optimizer.
void serve_in_function(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                       const char* what);
/// All processes, which meet by `all`, apply gradients by `optimizer` in a loop of the program's own.
/// They throw CommunicationError where `variables` are others than those of the others.
void serve_in_loop(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                   ProcessExchange& all, const Variables& variables);
/// A train_step applies gradients of some of `listed` by `optimizer`: that of compile(), or one of the
/// model's own, which servers are told here. Throws StateError for another one. Nothing without a job.
void serve_in_step(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob* job,
                   const Variables& listed);
/// From now on steps and rates that a worker reads in a batch or a function, and any process in a walk of a
/// loop, are the servers' of that moment.
void count_by_servers(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job);
/// In the chief ClusterCoordinator::join() brings the servers' state to this optimizer from now on,
/// schedule() its learning rate and what was loaded into it to them. A worker reads its numbers in
/// functions. Nothing without a job.
void follow_functions(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob* job);

}  // namespace nyala::detail
