#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdamaxConfig {
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

/// Adam with the infinity norm (Kingma and Ba, 2014): with t = iterations + 1
///   m += (g - m) (1 - beta_1), u = max(beta_2 u, |g|), w -= learning_rate / (1 - beta_1^t) * m / (u +
///   epsilon).
/// Slots: momentum, norm.
class Adamax : public Optimizer {
 public:
  using Config = AdamaxConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Adamax(const Config& config = {});
  template <size_t N>
  explicit Adamax(const NoSuchField (&)[N]) = delete;
  explicit Adamax(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Adamax(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Adamax(double learning_rate) : Adamax(LearningRate(learning_rate)) {}
};

}  // namespace nyala
