#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct MeanSquaredErrorConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "mean_squared_error";

  void fields(FieldVisitor& v);
};

/// mean((y_true - y_pred)^2) over the last axis.
class MeanSquaredError : public Loss {
 public:
  using Config = MeanSquaredErrorConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit MeanSquaredError(const Config& config = {});
  template <size_t N>
  explicit MeanSquaredError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
