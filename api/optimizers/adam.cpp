#include <nyala/api/optimizers/adam.h>
#include <nyala/api/optimizers/optimizer_config.h>

namespace nyala {

void AdamConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  v.field("amsgrad", amsgrad);
  visit_optimizer_options(v, *this);
}

namespace {

// Keras computes this in the dtype of the weights. In float32 1 - 0.999^t is 1.3e-5 off in the first step,
// and so are the weights.
template <class T>
T corrected_rate(const AdamConfig& config, double learning_rate, int64_t step) {
  const double t = static_cast<double>(step + 1);
  const T power_1 = static_cast<T>(std::pow(static_cast<double>(static_cast<T>(config.beta_1)), t));
  const T power_2 = static_cast<T>(std::pow(static_cast<double>(static_cast<T>(config.beta_2)), t));
  return static_cast<T>(learning_rate) * std::sqrt(T(1) - power_2) / (T(1) - power_1);
}

class AdamNode final : public OptimizerNode {
 public:
  explicit AdamNode(const AdamConfig& config)
      : OptimizerNode(optimizer_options(config, "Adam")), config_(config) {}
  std::string class_name() const override { return "Adam"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override {
    std::vector<std::string> names = {"momentum", "velocity"};
    if (config_.amsgrad) names.push_back("velocity_hat");
    return names;
  }
  size_t interleaved_slots() const override { return 2; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    const double alpha = dtype == DType::float64 ? corrected_rate<double>(config_, learning_rate, step)
                                                 : corrected_rate<float>(config_, learning_rate, step);
    return {alpha, 1.0 - config_.beta_1, 1.0 - config_.beta_2, config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override {
    run_update(config_.amsgrad ? ops::kAdamAmsgradUpdate : ops::kAdamUpdate, range);
  }

 private:
  AdamConfig config_;
};

}  // namespace

Adam::Adam(const Config& config) : Optimizer(std::make_shared<AdamNode>(config)) {}

Adam::Adam(LearningRate learning_rate, Config config)
    : Adam(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
