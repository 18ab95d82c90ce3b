#include <algorithm>
#include <cmath>

#include <nyala/api/schedules/polynomial_decay.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void PolynomialDecayConfig::fields(FieldVisitor& v) {
  v.field("initial_learning_rate", initial_learning_rate);
  v.field("decay_steps", decay_steps);
  v.field("end_learning_rate", end_learning_rate);
  v.field("power", power);
  v.field("cycle", cycle);
}

namespace {

class PolynomialDecayNode final : public LearningRateScheduleNode {
 public:
  explicit PolynomialDecayNode(const PolynomialDecayConfig& config) : config_(config) {
    if (!(config.decay_steps > 0))
      throw InvalidArgumentError("PolynomialDecay: expected decay_steps > 0, received " +
                                 number_text(config.decay_steps));
  }
  std::string class_name() const override { return "PolynomialDecay"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    float now = static_cast<float>(step), steps = static_cast<float>(config_.decay_steps);
    if (config_.cycle)
      steps *= step == 0 ? 1.0f : std::ceil(now / steps);
    else
      now = std::min(now, steps);
    const float end = static_cast<float>(config_.end_learning_rate);
    const float range = static_cast<float>(config_.initial_learning_rate) - end;
    return range * std::pow(1.0f - now / steps, static_cast<float>(config_.power)) + end;
  }

 private:
  PolynomialDecayConfig config_;
};

}  // namespace

PolynomialDecay::PolynomialDecay(const Config& config)
    : LearningRate(std::make_shared<PolynomialDecayNode>(config)) {}

PolynomialDecay::PolynomialDecay(double initial_learning_rate, double decay_steps, Config config)
    : PolynomialDecay([&] {
        config.initial_learning_rate = initial_learning_rate;
        config.decay_steps = decay_steps;
        return config;
      }()) {}

}  // namespace nyala
