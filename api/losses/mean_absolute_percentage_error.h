#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct MeanAbsolutePercentageErrorConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "mean_absolute_percentage_error";

  void fields(FieldVisitor& v);
};

/// 100 mean(|y_true - y_pred| / max(|y_true|, 1e-7)) over the last axis.
class MeanAbsolutePercentageError : public Loss {
 public:
  using Config = MeanAbsolutePercentageErrorConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit MeanAbsolutePercentageError(const Config& config = {});
  template <size_t N>
  explicit MeanAbsolutePercentageError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
