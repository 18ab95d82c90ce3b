#include <nyala/api/optimizers/adadelta.h>
#include <nyala/api/optimizers/base/optimizer_config.h>

namespace nyala {

using namespace nyala::detail;

void AdadeltaConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("rho", rho);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
}

namespace {

class AdadeltaNode final : public OptimizerNode {
 public:
  explicit AdadeltaNode(const AdadeltaConfig& config)
      : OptimizerNode(optimizer_options(config, "Adadelta")), config_(config) {}
  std::string class_name() const override { return "Adadelta"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override {
    return {"accumulated_grad", "accumulated_delta_var"};
  }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate, config_.rho, 1.0 - config_.rho, config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Adadelta>(range); }

 private:
  AdadeltaConfig config_;
};

}  // namespace

Adadelta::Adadelta(const Config& config) : Optimizer(std::make_shared<AdadeltaNode>(config)) {}

Adadelta::Adadelta(LearningRate learning_rate, Config config)
    : Adadelta(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
