#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct ExponentialDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double decay_rate = 0.0;
  bool staircase = false;
  std::string name = "ExponentialDecay";

  void fields(FieldVisitor& v);
};

/// initial_learning_rate * decay_rate^(step / decay_steps); with staircase the exponent is rounded down.
/// Computed in float32, as in Keras.
class ExponentialDecay : public LearningRate {
 public:
  using Config = ExponentialDecayConfig;
  /// Throws InvalidArgumentError unless decay_steps > 0.
  explicit ExponentialDecay(const Config& config);
  template <size_t N>
  explicit ExponentialDecay(const NoSuchField (&)[N]) = delete;
  ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate, Config config = {});
  template <size_t N>
  ExponentialDecay(double, double, double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
