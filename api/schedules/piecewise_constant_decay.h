#pragma once

#include <string>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

struct PiecewiseConstantDecayConfig {
  std::vector<double> boundaries = {};
  std::vector<double> values = {};
  std::string name = "PiecewiseConstant";

  void fields(FieldVisitor& v);
};

/// values[i] up to and with step boundaries[i], the last value behind them all. Boundaries count whole steps:
/// fractions are cut off, as in Keras.
class PiecewiseConstantDecay : public LearningRate {
 public:
  using Config = PiecewiseConstantDecayConfig;
  /// Throws InvalidArgumentError unless there is at least one boundary, they increase, and there is one value
  /// more.
  explicit PiecewiseConstantDecay(const Config& config);
  PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values, Config config = {});
};

}  // namespace nyala
