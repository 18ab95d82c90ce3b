#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct CosineDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double alpha = 0.0;
  std::string name = "CosineDecay";
  double warmup_target = kNoValue;  // none: no warm-up
  double warmup_steps = 0.0;

  void fields(FieldVisitor& v);
};

/// With f = min(step, decay_steps) / decay_steps: initial_learning_rate * ((1 - alpha) (1 + cos(pi f)) / 2 +
/// alpha). With a warm-up the rate grows linearly from initial_learning_rate to warmup_target within
/// warmup_steps, and decays from there within decay_steps. Computed in float32, as in Keras.
class CosineDecay : public LearningRate {
 public:
  using Config = CosineDecayConfig;
  /// Throws InvalidArgumentError unless decay_steps > 0.
  explicit CosineDecay(const Config& config);
  template <size_t N>
  explicit CosineDecay(const NoSuchField (&)[N]) = delete;
  CosineDecay(double initial_learning_rate, double decay_steps, Config config = {});
  template <size_t N>
  CosineDecay(double, double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
