#pragma once

#include <functional>
#include <map>
#include <string>

#include <nyala/api/optimizers/base/base_optimizer.h>
#include <nyala/strategies/parameter_server/remote_parameters.h>

namespace nyala::detail {

/// Steps and learning rates of optimizers, by the names that servers have for them.
using OptimizerNumbers = std::map<std::string, double>;

/// Those of this one here; `place` goes before the names. One that follows a schedule has no rate.
void add_numbers(const BaseOptimizer& optimizer, const std::string& place, OptimizerNumbers& numbers);
/// It counts on from these; what is not among them stays.
void take_steps(BaseOptimizer& optimizer, const std::string& place, const OptimizerNumbers& numbers);
/// The same, and has these rates.
void take_numbers(BaseOptimizer& optimizer, const std::string& place, const OptimizerNumbers& numbers);
/// Those that servers have for the rule of that name; none where nobody has said one.
OptimizerNumbers numbers_of_servers(RemoteParameters& parameters, const std::string& rule);

/// From now on `catch_up` is called before iterations() and learning_rate() of this optimizer, or of one of
/// its members, are read, and before a rate is set. Threads that do so take turns.
void set_catch_up(BaseOptimizer& optimizer, const std::function<void(BaseOptimizer::Access)>& catch_up);

}  // namespace nyala::detail
