#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct FtrlConfig {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;
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

/// "Follow the regularized leader" (McMahan et al., 2013): with p = -learning_rate_power, r = learning_rate
/// and l2 = l2_regularization_strength + beta / (2 r)
///   n' = n + g^2, z += g + 2 l2_shrinkage w - (n'^p - n^p) / r * w, w = (clip(z, -l1, l1) - z) / (n'^p / r +
///   2 l2).
/// Slots: accumulator (begins as initial_accumulator_value), linear.
class Ftrl : public Optimizer {
 public:
  using Config = FtrlConfig;
  /// Throws InvalidArgumentError for negative strengths, a negative accumulator, a positive power, and
  /// options that exclude each other.
  explicit Ftrl(const Config& config = {});
  template <size_t N>
  explicit Ftrl(const NoSuchField (&)[N]) = delete;
  explicit Ftrl(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Ftrl(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Ftrl(double learning_rate) : Ftrl(LearningRate(learning_rate)) {}
};

}  // namespace nyala
