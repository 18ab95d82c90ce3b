#include <algorithm>
#include <cmath>
#include <numbers>

#include <nyala/api/schedules/cosine_decay.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void CosineDecayConfig::fields(FieldVisitor& v) {
  v.field("initial_learning_rate", initial_learning_rate);
  v.field("decay_steps", decay_steps);
  v.field("alpha", alpha);
  v.optional("warmup_target", warmup_target);
  v.field("warmup_steps", warmup_steps);
}

namespace {

class CosineDecayNode final : public LearningRateScheduleNode {
 public:
  explicit CosineDecayNode(const CosineDecayConfig& config) : config_(config) {
    if (!(config.decay_steps > 0))
      throw InvalidArgumentError("CosineDecay: expected decay_steps > 0, received " +
                                 number_text(config.decay_steps));
  }
  std::string class_name() const override { return "CosineDecay"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    const float now = static_cast<float>(step), decay_steps = static_cast<float>(config_.decay_steps);
    const float initial = static_cast<float>(config_.initial_learning_rate);
    if (std::isnan(config_.warmup_target)) return decayed(std::min(now, decay_steps), initial);
    const float target = static_cast<float>(config_.warmup_target);
    const float warmup_steps = static_cast<float>(config_.warmup_steps);
    const float place = std::min(now, decay_steps + warmup_steps);
    if (place < warmup_steps) return (target - initial) * (place / warmup_steps) + initial;
    return decayed(place - warmup_steps, target);
  }

 private:
  float decayed(float step, float from) const {
    const float fraction = step / static_cast<float>(config_.decay_steps);
    const float cosine = 0.5f * (1.0f + std::cos(std::numbers::pi_v<float> * fraction));
    return from * (static_cast<float>(1.0 - config_.alpha) * cosine + static_cast<float>(config_.alpha));
  }

  CosineDecayConfig config_;
};

}  // namespace

CosineDecay::CosineDecay(const Config& config) : LearningRate(std::make_shared<CosineDecayNode>(config)) {}

CosineDecay::CosineDecay(double initial_learning_rate, double decay_steps, Config config)
    : CosineDecay([&] {
        config.initial_learning_rate = initial_learning_rate;
        config.decay_steps = decay_steps;
        return config;
      }()) {}

}  // namespace nyala
