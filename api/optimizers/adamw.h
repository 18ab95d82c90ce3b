#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct AdamWConfig {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
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

/// Adam with weight_decay, which it must have (Loshchilov and Hutter, 2019): w -= learning_rate *
/// weight_decay * w before each update. Slots as in Adam.
class AdamW : public Optimizer {
 public:
  using Config = AdamWConfig;
  /// Throws InvalidArgumentError for no weight_decay and options that exclude each other.
  explicit AdamW(const Config& config = {});
  template <size_t N>
  explicit AdamW(const NoSuchField (&)[N]) = delete;
  explicit AdamW(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit AdamW(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit AdamW(double learning_rate) : AdamW(LearningRate(learning_rate)) {}
};

}  // namespace nyala
