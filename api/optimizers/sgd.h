#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct SGDConfig {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
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

/// w -= learning_rate * g; with momentum m = momentum * m - learning_rate * g and w += m, Nesterov's
/// w += momentum * m - learning_rate * g. Slot: momentum, if it is not 0.
class SGD : public Optimizer {
 public:
  using Config = SGDConfig;
  /// Throws InvalidArgumentError for momentum outside [0, 1] and options that exclude each other.
  explicit SGD(const Config& config = {});
  template <size_t N>
  explicit SGD(const NoSuchField (&)[N]) = delete;
  explicit SGD(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit SGD(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit SGD(double learning_rate) : SGD(LearningRate(learning_rate)) {}
};

}  // namespace nyala
