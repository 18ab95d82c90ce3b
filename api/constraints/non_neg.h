#pragma once

#include <nyala/api/constraints/constraint.h>
#include <nyala/api/fields.h>

namespace nyala {

/// Negative weights become 0.
class NonNeg : public Constraint {
 public:
  NonNeg();
};

}  // namespace nyala
