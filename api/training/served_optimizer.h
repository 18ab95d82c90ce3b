#pragma once

#include <memory>

#include <nyala/api/optimizers/base/base_optimizer.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala::detail {

/// Throws InvalidArgumentError for an optimizer that servers cannot apply as one device does.
void check_can_be_served(BaseOptimizer& optimizer, const RemoteParameters& parameters);

/// Servers apply gradients by `optimizer`, which is built, from now on; `tables` lie on them alone.
/// `if_none`: unless another one does so already, which is a StateError.
void give_rule_to_servers(BaseOptimizer& optimizer, const Variables& tables, RemoteParameters& parameters,
                          bool if_none = false);
/// Iteration, rate and slots. `if_new`: to servers that have not applied anything by the rule yet.
void give_state_to_servers(const BaseOptimizer& optimizer, RemoteParameters& parameters, bool if_new = false);
/// Those that servers have.
void take_state_from_servers(BaseOptimizer& optimizer, RemoteParameters& parameters);

/// Gradients are about to be applied by `optimizer`, which is built, outside of fit: servers are told, once.
/// `what` names the call. Throws StateError out of a function that ClusterCoordinator schedules, and for a
/// second optimizer.
void serve_in_function(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob& job,
                       const char* what);
/// A train_step applies gradients by `optimizer`. Throws StateError where servers apply another one.
void check_is_served(const std::shared_ptr<BaseOptimizer>& optimizer, const ParameterServerJob* job);
/// In the chief ClusterCoordinator::join() brings the servers' state to this optimizer from now on,
/// schedule() its learning rate and what was loaded into it to them. Elsewhere (no job, a worker) nothing.
void follow_functions(const std::shared_ptr<BaseOptimizer>& optimizer, ParameterServerJob* job);

}  // namespace nyala::detail
