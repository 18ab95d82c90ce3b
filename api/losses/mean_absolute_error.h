#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct MeanAbsoluteErrorConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "mean_absolute_error";

  void fields(FieldVisitor& v);
};

/// mean(|y_true - y_pred|) over the last axis.
class MeanAbsoluteError : public Loss {
 public:
  using Config = MeanAbsoluteErrorConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit MeanAbsoluteError(const Config& config = {});
  template <size_t N>
  explicit MeanAbsoluteError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
