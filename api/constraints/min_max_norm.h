#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/constraints/constraint.h>

namespace nyala {

struct MinMaxNormConfig {
  double min_value = 0.0;
  double max_value = 1.0;
  double rate = 1.0;
  std::vector<int64_t> axis = {0};

  void fields(FieldVisitor& v);
};

/// w * (rate * clip(norm, min_value, max_value) + (1 - rate) * norm) / (1e-7 + norm).
/// `axis`: over which norms are taken; for a Dense kernel 0, for a Conv2D kernel {0, 1, 2}; empty: all.
class MinMaxNorm : public Constraint {
 public:
  using Config = MinMaxNormConfig;
  explicit MinMaxNorm(const Config& config = {});
  template <size_t N>
  explicit MinMaxNorm(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
