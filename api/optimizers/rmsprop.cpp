#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/rmsprop.h>

namespace nyala {

using namespace nyala::detail;

void RMSpropConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("rho", rho);
  v.field("momentum", momentum);
  v.field("epsilon", epsilon);
  v.field("centered", centered);
  visit_optimizer_options(v, *this);
}

namespace {

class RmspropNode final : public OptimizerNode {
 public:
  explicit RmspropNode(const RMSpropConfig& config)
      : OptimizerNode(optimizer_options(config, "RMSprop")), config_(config) {}
  std::string class_name() const override { return "RMSprop"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override {
    std::vector<std::string> names = {"velocity"};
    if (has_momentum()) names.push_back("momentum");
    if (config_.centered) names.push_back("average_gradient");
    return names;
  }
  size_t interleaved_slots() const override { return 0; }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate, config_.rho, 1.0 - config_.rho, config_.epsilon, config_.momentum};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override {
    if (has_momentum())
      config_.centered ? run_update<formulas::RmspropMomentumCentered>(range)
                       : run_update<formulas::RmspropMomentum>(range);
    else
      config_.centered ? run_update<formulas::RmspropCentered>(range) : run_update<formulas::Rmsprop>(range);
  }

 private:
  bool has_momentum() const { return config_.momentum > 0.0; }

  RMSpropConfig config_;
};

}  // namespace

RMSprop::RMSprop(const Config& config) : Optimizer(std::make_shared<RmspropNode>(config)) {}

RMSprop::RMSprop(LearningRate learning_rate, Config config)
    : RMSprop(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
