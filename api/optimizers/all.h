#pragma once

// Every optimizer: one line here, one below for those that a name alone can make.
#include <nyala/api/base/name_table.h>
#include <nyala/api/optimizers/adadelta.h>
#include <nyala/api/optimizers/adafactor.h>
#include <nyala/api/optimizers/adagrad.h>
#include <nyala/api/optimizers/adam.h>
#include <nyala/api/optimizers/adam_node.h>
#include <nyala/api/optimizers/adamax.h>
#include <nyala/api/optimizers/adamw.h>
#include <nyala/api/optimizers/base/base_optimizer.h>
#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/optimizers/base/optimizer_node.h>
#include <nyala/api/optimizers/base/optimizer_state.h>
#include <nyala/api/optimizers/base/partial_update.h>
#include <nyala/api/optimizers/base/update_formula.h>
#include <nyala/api/optimizers/base/update_plan.h>
#include <nyala/api/optimizers/base/update_slices.h>
#include <nyala/api/optimizers/base/variable_update.h>
#include <nyala/api/optimizers/ftrl.h>
#include <nyala/api/optimizers/lamb.h>
#include <nyala/api/optimizers/lion.h>
#include <nyala/api/optimizers/loss_scale_optimizer.h>
#include <nyala/api/optimizers/multi_optimizer.h>
#include <nyala/api/optimizers/muon.h>
#include <nyala/api/optimizers/nadam.h>
#include <nyala/api/optimizers/rmsprop.h>
#include <nyala/api/optimizers/schedule_free_adamw.h>
#include <nyala/api/optimizers/sgd.h>

namespace nyala {

using Optimizers = ClassList<Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, Ftrl, Lamb, Lion, Muon, Nadam,
                             RMSprop, SGD, ScheduleFreeAdamW>;

}  // namespace nyala
