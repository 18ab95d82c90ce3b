#include <cmath>
#include <numbers>

#include <nyala/api/schedules/cosine_decay_restarts.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void CosineDecayRestartsConfig::fields(FieldVisitor& v) {
  v.field("initial_learning_rate", initial_learning_rate);
  v.field("first_decay_steps", first_decay_steps);
  v.field("t_mul", t_mul);
  v.field("m_mul", m_mul);
  v.field("alpha", alpha);
}

namespace {

class CosineDecayRestartsNode final : public LearningRateScheduleNode {
 public:
  explicit CosineDecayRestartsNode(const CosineDecayRestartsConfig& config) : config_(config) {
    if (!(config.first_decay_steps > 0))
      throw InvalidArgumentError("CosineDecayRestarts: expected first_decay_steps > 0, received " +
                                 number_text(config.first_decay_steps));
  }
  std::string class_name() const override { return "CosineDecayRestarts"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    const float t_mul = static_cast<float>(config_.t_mul), alpha = static_cast<float>(config_.alpha);
    float done = static_cast<float>(step) / static_cast<float>(config_.first_decay_steps);
    float restarts = std::floor(done);
    if (t_mul == 1.0f) {
      done -= restarts;
    } else {
      restarts = std::floor(std::log(1.0f - done * (1.0f - t_mul)) / std::log(t_mul));
      const float stretch = std::pow(t_mul, restarts);
      done = (done - (1.0f - stretch) / (1.0f - t_mul)) / stretch;
    }
    const float height = std::pow(static_cast<float>(config_.m_mul), restarts);
    const float cosine = 0.5f * height * (1.0f + std::cos(std::numbers::pi_v<float> * done));
    return static_cast<float>(config_.initial_learning_rate) * ((1.0f - alpha) * cosine + alpha);
  }

 private:
  CosineDecayRestartsConfig config_;
};

}  // namespace

CosineDecayRestarts::CosineDecayRestarts(const Config& config)
    : LearningRate(std::make_shared<CosineDecayRestartsNode>(config)) {}

CosineDecayRestarts::CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                                         Config config)
    : CosineDecayRestarts([&] {
        config.initial_learning_rate = initial_learning_rate;
        config.first_decay_steps = first_decay_steps;
        return config;
      }()) {}

}  // namespace nyala
