#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CategoricalHingeConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_hinge";

  void fields(FieldVisitor& v);
};

/// max(max((1 - y_true) y_pred) - sum(y_true y_pred) + 1, 0), with maximum and sum over the last axis.
class CategoricalHinge : public Loss {
 public:
  using Config = CategoricalHingeConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit CategoricalHinge(const Config& config = {});
  template <size_t N>
  explicit CategoricalHinge(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
