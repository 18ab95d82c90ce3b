#include <cmath>

#include <nyala/api/schedules/exponential_decay.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void ExponentialDecayConfig::fields(FieldVisitor& v) {
  v.field("initial_learning_rate", initial_learning_rate);
  v.field("decay_steps", decay_steps);
  v.field("decay_rate", decay_rate);
  v.field("staircase", staircase);
}

namespace {

class ExponentialDecayNode final : public LearningRateScheduleNode {
 public:
  explicit ExponentialDecayNode(const ExponentialDecayConfig& config) : config_(config) {
    if (!(config.decay_steps > 0))
      throw InvalidArgumentError("ExponentialDecay: expected decay_steps > 0, received " +
                                 number_text(config.decay_steps));
  }
  std::string class_name() const override { return "ExponentialDecay"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    float exponent = static_cast<float>(step) / static_cast<float>(config_.decay_steps);
    if (config_.staircase) exponent = std::floor(exponent);
    return static_cast<float>(config_.initial_learning_rate) *
           std::pow(static_cast<float>(config_.decay_rate), exponent);
  }

 private:
  ExponentialDecayConfig config_;
};

}  // namespace

ExponentialDecay::ExponentialDecay(const Config& config)
    : LearningRate(std::make_shared<ExponentialDecayNode>(config)) {}

ExponentialDecay::ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   Config config)
    : ExponentialDecay([&] {
        config.initial_learning_rate = initial_learning_rate;
        config.decay_steps = decay_steps;
        config.decay_rate = decay_rate;
        return config;
      }()) {}

}  // namespace nyala
