#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct HuberConfig {
  double delta = 1.0;
  std::string reduction = "sum_over_batch_size";
  std::string name = "huber_loss";

  void fields(FieldVisitor& v);
};

/// The mean over the last axis of e^2 / 2 where |e| <= delta and of delta |e| - delta^2 / 2 elsewhere,
/// e = y_pred - y_true.
class Huber : public Loss {
 public:
  using Config = HuberConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Huber(const Config& config = {});
  template <size_t N>
  explicit Huber(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
