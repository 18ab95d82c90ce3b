#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct MeanSquaredLogarithmicErrorConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "mean_squared_logarithmic_error";

  void fields(FieldVisitor& v);
};

/// mean((log(1 + max(y_true, 1e-7)) - log(1 + max(y_pred, 1e-7)))^2) over the last axis.
class MeanSquaredLogarithmicError : public Loss {
 public:
  using Config = MeanSquaredLogarithmicErrorConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit MeanSquaredLogarithmicError(const Config& config = {});
  template <size_t N>
  explicit MeanSquaredLogarithmicError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
