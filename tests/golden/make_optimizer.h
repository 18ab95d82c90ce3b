#pragma once

#include <string>

#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {

/// A schedule by Keras' class name and constructor arguments.
LearningRate make_schedule(const std::string& name, const Json& config);

/// A number, or {"class", "config"} of a schedule.
LearningRate make_rate(const Json& rate);

/// An optimizer by Keras' class name and constructor arguments.
Optimizer make_optimizer(const std::string& name, const Json& config);

}  // namespace nyala::golden
