#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct LambConfig {
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

/// Adam whose step is scaled for each variable (You et al., 2019): with t = iterations + 1 and m and v as in
/// Adam
///   s = m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon), w -= learning_rate * |w| / |s| * s,
/// the quotient of the norms being 1 where one of them is 0. Slots: momentum, velocity.
class Lamb : public Optimizer {
 public:
  using Config = LambConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Lamb(const Config& config = {});
  template <size_t N>
  explicit Lamb(const NoSuchField (&)[N]) = delete;
  explicit Lamb(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Lamb(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Lamb(double learning_rate) : Lamb(LearningRate(learning_rate)) {}
};

}  // namespace nyala
