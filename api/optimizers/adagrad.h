#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdagradConfig {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
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

/// a += g^2, w -= learning_rate * g / sqrt(a + epsilon) (Duchi et al., 2011); a begins as
/// initial_accumulator_value. Slot: accumulator.
class Adagrad : public Optimizer {
 public:
  using Config = AdagradConfig;
  /// Throws InvalidArgumentError for options that exclude each other.
  explicit Adagrad(const Config& config = {});
  template <size_t N>
  explicit Adagrad(const NoSuchField (&)[N]) = delete;
  explicit Adagrad(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Adagrad(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Adagrad(double learning_rate) : Adagrad(LearningRate(learning_rate)) {}
};

}  // namespace nyala
