#pragma once

// Every learning rate schedule: one line here, one below.
#include <nyala/api/base/name_table.h>
#include <nyala/api/schedules/cosine_decay.h>
#include <nyala/api/schedules/cosine_decay_restarts.h>
#include <nyala/api/schedules/exponential_decay.h>
#include <nyala/api/schedules/inverse_time_decay.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/api/schedules/piecewise_constant_decay.h>
#include <nyala/api/schedules/polynomial_decay.h>

namespace nyala {

using Schedules = ClassList<CosineDecay, CosineDecayRestarts, ExponentialDecay, InverseTimeDecay,
                            PiecewiseConstantDecay, PolynomialDecay>;

}  // namespace nyala
