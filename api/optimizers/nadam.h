#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct NadamConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
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

/// Adam with Nesterov momentum (Dozat, 2015): with t = iterations + 1, u_t = beta_1 (1 - 0.96^t / 2), p_t the
/// product of all u until t, and m and v as in Adam,
///   w -= learning_rate * (u_(t+1) m / (1 - p_t u_(t+1)) + (1 - u_t) g / (1 - p_t)) / (sqrt(v / (1 -
///   beta_2^t)) + epsilon).
/// Slots: momentum, velocity. Keras' files hold p_t too.
class Nadam : public Optimizer {
 public:
  using Config = NadamConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Nadam(const Config& config = {});
  template <size_t N>
  explicit Nadam(const NoSuchField (&)[N]) = delete;
  explicit Nadam(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Nadam(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Nadam(double learning_rate) : Nadam(LearningRate(learning_rate)) {}
};

}  // namespace nyala
