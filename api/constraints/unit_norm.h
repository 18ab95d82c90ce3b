#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/constraints/constraint.h>

namespace nyala {

struct UnitNormConfig {
  std::vector<int64_t> axis = {0};

  void fields(FieldVisitor& v);
};

/// w / (1e-7 + norm): weights of norm 1.
/// `axis`: over which norms are taken; for a Dense kernel 0, for a Conv2D kernel {0, 1, 2}; empty: all.
class UnitNorm : public Constraint {
 public:
  using Config = UnitNormConfig;
  explicit UnitNorm(const Config& config = {});
  template <size_t N>
  explicit UnitNorm(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
