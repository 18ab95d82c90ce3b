#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct HingeConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "hinge";

  void fields(FieldVisitor& v);
};

/// mean(max(1 - y_true y_pred, 0)) over the last axis. Labels 0 and 1 become -1 and 1, if the batch has no
/// others.
class Hinge : public Loss {
 public:
  using Config = HingeConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Hinge(const Config& config = {});
  template <size_t N>
  explicit Hinge(const NoSuchField (&)[N]) = delete;
};

namespace detail {

/// Labels 0 and 1 as -1 and 1; others, if the batch has any, as they are.
Tensor hinge_labels(const Tensor& y_true);

}  // namespace detail

}  // namespace nyala
