#pragma once

// Every learning rate schedule: one line each.
#include <nyala/api/schedules/cosine_decay.h>
#include <nyala/api/schedules/exponential_decay.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/api/schedules/piecewise_constant_decay.h>
