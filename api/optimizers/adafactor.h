#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdafactorConfig {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1.0;
  bool relative_step = true;
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

/// Adaptive rates from row and column means (Shazeer and Stern, 2018): with t = iterations + 1,
/// p = min(learning_rate, 1 / sqrt(t)), b = 1 - t^beta_2_decay and q = g^2 + epsilon_1, for weights of rank 2
/// or more
///   r = b r + (1 - b) mean(q, last axis), c = b c + (1 - b) mean(q, axis before it), v = r / mean(r) outer
///   c,
/// for others v = b v + (1 - b) q; then u = g / sqrt(v), w -= max(epsilon_2, rms(w)) p u / max(1, rms(u) /
/// clip_threshold). relative_step is accepted as in Keras, where it changes nothing either. Slots: r, c,
/// velocity.
class Adafactor : public Optimizer {
 public:
  using Config = AdafactorConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Adafactor(const Config& config = {});
  template <size_t N>
  explicit Adafactor(const NoSuchField (&)[N]) = delete;
  explicit Adafactor(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Adafactor(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Adafactor(double learning_rate) : Adafactor(LearningRate(learning_rate)) {}
};

}  // namespace nyala
