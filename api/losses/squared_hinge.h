#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct SquaredHingeConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "squared_hinge";

  void fields(FieldVisitor& v);
};

/// mean(max(1 - y_true y_pred, 0)^2) over the last axis. Labels 0 and 1 become -1 and 1, if the batch has no
/// others.
class SquaredHinge : public Loss {
 public:
  using Config = SquaredHingeConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit SquaredHinge(const Config& config = {});
  template <size_t N>
  explicit SquaredHinge(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
