#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct PolynomialDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  std::string name = "PolynomialDecay";

  void fields(FieldVisitor& v);
};

/// (initial_learning_rate - end_learning_rate) (1 - s / d)^power + end_learning_rate with d = decay_steps and
/// s = min(step, d); with cycle d is the smallest multiple of decay_steps that is not below step (at least
/// one). Computed in float32, as in Keras.
class PolynomialDecay : public LearningRate {
 public:
  using Config = PolynomialDecayConfig;
  /// Throws InvalidArgumentError unless decay_steps > 0.
  explicit PolynomialDecay(const Config& config);
  template <size_t N>
  explicit PolynomialDecay(const NoSuchField (&)[N]) = delete;
  PolynomialDecay(double initial_learning_rate, double decay_steps, Config config = {});
  template <size_t N>
  PolynomialDecay(double, double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
