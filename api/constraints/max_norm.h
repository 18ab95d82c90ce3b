#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/constraints/constraint.h>

namespace nyala {

struct MaxNormConfig {
  double max_value = 2.0;
  std::vector<int64_t> axis = {0};

  void fields(FieldVisitor& v);
};

/// w * min(norm, max_value) / (1e-7 + norm).
/// `axis`: over which norms are taken; for a Dense kernel 0, for a Conv2D kernel {0, 1, 2}; empty: all.
class MaxNorm : public Constraint {
 public:
  using Config = MaxNormConfig;
  explicit MaxNorm(const Config& config = {});
  template <size_t N>
  explicit MaxNorm(const NoSuchField (&)[N]) = delete;
  explicit MaxNorm(double max_value, Config config = {});
  template <size_t N>
  explicit MaxNorm(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
