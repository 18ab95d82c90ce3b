#pragma once

// Every constraint: one line here, one below.
#include <nyala/api/base/name_table.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/constraints/max_norm.h>
#include <nyala/api/constraints/min_max_norm.h>
#include <nyala/api/constraints/non_neg.h>
#include <nyala/api/constraints/norms.h>
#include <nyala/api/constraints/unit_norm.h>

namespace nyala {

using Constraints = ClassList<MaxNorm, MinMaxNorm, NonNeg, UnitNorm>;

}  // namespace nyala
