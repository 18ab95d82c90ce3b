#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdadeltaConfig {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
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

/// a = rho a + (1 - rho) g^2, s = g sqrt(d + epsilon) / sqrt(a + epsilon), d = rho d + (1 - rho) s^2,
/// w -= learning_rate * s (Zeiler, 2012). Slots: accumulated_grad, accumulated_delta_var.
class Adadelta : public Optimizer {
 public:
  using Config = AdadeltaConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Adadelta(const Config& config = {});
  template <size_t N>
  explicit Adadelta(const NoSuchField (&)[N]) = delete;
  explicit Adadelta(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Adadelta(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Adadelta(double learning_rate) : Adadelta(LearningRate(learning_rate)) {}
};

}  // namespace nyala
