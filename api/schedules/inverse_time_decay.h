#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct InverseTimeDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double decay_rate = 0.0;
  bool staircase = false;
  std::string name = "InverseTimeDecay";

  void fields(FieldVisitor& v);
};

/// initial_learning_rate / (1 + decay_rate * step / decay_steps); with staircase the quotient is rounded
/// down. Computed in float32, as in Keras.
class InverseTimeDecay : public LearningRate {
 public:
  using Config = InverseTimeDecayConfig;
  /// Throws InvalidArgumentError unless decay_steps > 0.
  explicit InverseTimeDecay(const Config& config);
  template <size_t N>
  explicit InverseTimeDecay(const NoSuchField (&)[N]) = delete;
  InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate, Config config = {});
  template <size_t N>
  InverseTimeDecay(double, double, double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
