#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct ScheduleFreeAdamWConfig {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  int64_t warmup_steps = 0;
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

/// AdamW without a schedule (Defazio et al., 2024): with t = iterations + 1, the rate growing linearly within
/// warmup_steps, and v as in Adam
///   z' = z - learning_rate * g / (sqrt(v / (1 - beta_2^t)) + epsilon), x = (w - (1 - beta_1) z) / beta_1,
///   w = (1 - beta_1) z' + beta_1 ((1 - 1/t) x + z' / t).
/// As in Keras on JAX; on TensorFlow and torch it takes z' for z in x, since its z is the variable. Slots:
/// momentum (z, begins as the weight), velocity.
class ScheduleFreeAdamW : public Optimizer {
 public:
  using Config = ScheduleFreeAdamWConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit ScheduleFreeAdamW(const Config& config = {});
  template <size_t N>
  explicit ScheduleFreeAdamW(const NoSuchField (&)[N]) = delete;
  explicit ScheduleFreeAdamW(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit ScheduleFreeAdamW(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit ScheduleFreeAdamW(double learning_rate) : ScheduleFreeAdamW(LearningRate(learning_rate)) {}
};

}  // namespace nyala
