#pragma once

// Every regularizer: one line here, one below.
#include <nyala/api/base/name_table.h>
#include <nyala/api/regularizers/factor.h>
#include <nyala/api/regularizers/l1.h>
#include <nyala/api/regularizers/l1_l2.h>
#include <nyala/api/regularizers/l2.h>
#include <nyala/api/regularizers/orthogonal_regularizer.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

using Regularizers = ClassList<L1, L1L2, L2, OrthogonalRegularizer>;

}  // namespace nyala
