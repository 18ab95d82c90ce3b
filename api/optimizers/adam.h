#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdamConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
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

/// Adam (Kingma and Ba, 2014) with Keras' "epsilon hat": with t = iterations + 1
///   m += (g - m) (1 - beta_1), v += (g^2 - v) (1 - beta_2),
///   w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon);
/// amsgrad divides by the largest v so far. Slots: momentum, velocity (, velocity_hat).
class Adam : public Optimizer {
 public:
  using Config = AdamConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Adam(const Config& config = {});
  template <size_t N>
  explicit Adam(const NoSuchField (&)[N]) = delete;
  explicit Adam(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Adam(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Adam(double learning_rate) : Adam(LearningRate(learning_rate)) {}
};

}  // namespace nyala
