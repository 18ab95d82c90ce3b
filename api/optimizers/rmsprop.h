#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct RMSpropConfig {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  double weight_decay = kNoValue;
  double clipnorm = kNoValue;
  double clipvalue = kNoValue;
  double global_clipnorm = kNoValue;
  bool use_ema = false;
  double ema_momentum = 0.99;
  int64_t ema_overwrite_frequency = 0;
  double loss_scale_factor = kNoValue;
  int64_t gradient_accumulation_steps = 0;
  std::string name = {};

  void fields(FieldVisitor& v);
};

/// v = rho v + (1 - rho) g^2, w -= learning_rate * g / sqrt(v + epsilon). Centered: the square of the
/// gradient's average is taken from v under the root. With momentum the steps are accumulated: b = momentum b
/// + step, w -= b. Slots: velocity (, momentum) (, average_gradient).
class RMSprop : public Optimizer {
 public:
  using Config = RMSpropConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit RMSprop(const Config& config = {});
  template <size_t N>
  explicit RMSprop(const NoSuchField (&)[N]) = delete;
  explicit RMSprop(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit RMSprop(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit RMSprop(double learning_rate) : RMSprop(LearningRate(learning_rate)) {}
};

}  // namespace nyala
