#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/constraints/constraint.h>

namespace nyala {

/// Negative weights become 0.
class NonNeg : public Constraint {
 public:
  NonNeg();
};

}  // namespace nyala
