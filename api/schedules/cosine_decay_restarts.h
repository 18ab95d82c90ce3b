#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct CosineDecayRestartsConfig {
  double initial_learning_rate = 0.0;
  double first_decay_steps = 0.0;
  double t_mul = 2.0;
  double m_mul = 1.0;
  double alpha = 0.0;
  std::string name = "SGDRDecay";

  void fields(FieldVisitor& v);
};

/// Cosine decay that starts again (Loshchilov and Hutter, 2016): the first period has first_decay_steps, each
/// next t_mul times as many, and begins m_mul times as high. Within a period, f being the part that is over:
/// initial_learning_rate * ((1 - alpha) m (1 + cos(pi f)) / 2 + alpha). Computed in float32, as in Keras.
class CosineDecayRestarts : public LearningRate {
 public:
  using Config = CosineDecayRestartsConfig;
  /// Throws InvalidArgumentError unless first_decay_steps > 0.
  explicit CosineDecayRestarts(const Config& config);
  template <size_t N>
  explicit CosineDecayRestarts(const NoSuchField (&)[N]) = delete;
  CosineDecayRestarts(double initial_learning_rate, double first_decay_steps, Config config = {});
  template <size_t N>
  CosineDecayRestarts(double, double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
