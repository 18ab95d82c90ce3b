#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct KLDivergenceConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "kl_divergence";

  void fields(FieldVisitor& v);
};

/// sum(y_true log(y_true / y_pred)) over the last axis, both clipped to [1e-7, 1].
class KLDivergence : public Loss {
 public:
  using Config = KLDivergenceConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit KLDivergence(const Config& config = {});
  template <size_t N>
  explicit KLDivergence(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
