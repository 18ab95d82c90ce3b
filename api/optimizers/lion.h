#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct LionConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
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

/// w -= learning_rate * sign(beta_1 m + (1 - beta_1) g), m = beta_2 m + (1 - beta_2) g (Chen et al., 2023).
/// Slot: momentum.
class Lion : public Optimizer {
 public:
  using Config = LionConfig;
  /// Throws InvalidArgumentError for beta_1 outside (0, 1] and options that exclude each other.
  explicit Lion(const Config& config = {});
  template <size_t N>
  explicit Lion(const NoSuchField (&)[N]) = delete;
  explicit Lion(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Lion(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Lion(double learning_rate) : Lion(LearningRate(learning_rate)) {}
};

}  // namespace nyala
