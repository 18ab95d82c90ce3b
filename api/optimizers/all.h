#pragma once

// Every optimizer: one line here, one below.
#include <nyala/api/name_table.h>
#include <nyala/api/optimizers/adam.h>
#include <nyala/api/optimizers/optimizer.h>
#include <nyala/api/optimizers/optimizer_config.h>
#include <nyala/api/optimizers/rmsprop.h>
#include <nyala/api/optimizers/sgd.h>
#include <nyala/api/optimizers/update_plan.h>

namespace nyala {

using Optimizers = ClassList<Adam, RMSprop, SGD>;

}  // namespace nyala
