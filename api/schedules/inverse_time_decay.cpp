#include <cmath>

#include <nyala/api/schedules/inverse_time_decay.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void InverseTimeDecayConfig::fields(FieldVisitor& v) {
  v.field("initial_learning_rate", initial_learning_rate);
  v.field("decay_steps", decay_steps);
  v.field("decay_rate", decay_rate);
  v.field("staircase", staircase);
}

namespace {

class InverseTimeDecayNode final : public LearningRateScheduleNode {
 public:
  explicit InverseTimeDecayNode(const InverseTimeDecayConfig& config) : config_(config) {
    if (!(config.decay_steps > 0))
      throw InvalidArgumentError("InverseTimeDecay: expected decay_steps > 0, received " +
                                 number_text(config.decay_steps));
  }
  std::string class_name() const override { return "InverseTimeDecay"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    float place = static_cast<float>(step) / static_cast<float>(config_.decay_steps);
    if (config_.staircase) place = std::floor(place);
    return static_cast<float>(config_.initial_learning_rate) /
           (1.0f + static_cast<float>(config_.decay_rate) * place);
  }

 private:
  InverseTimeDecayConfig config_;
};

}  // namespace

InverseTimeDecay::InverseTimeDecay(const Config& config)
    : LearningRate(std::make_shared<InverseTimeDecayNode>(config)) {}

InverseTimeDecay::InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   Config config)
    : InverseTimeDecay([&] {
        config.initial_learning_rate = initial_learning_rate;
        config.decay_steps = decay_steps;
        config.decay_rate = decay_rate;
        return config;
      }()) {}

}  // namespace nyala
