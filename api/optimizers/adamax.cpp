#include <nyala/api/optimizers/adamax.h>
#include <nyala/api/optimizers/base/optimizer_config.h>

namespace nyala {

using namespace nyala::detail;

void AdamaxConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
}

namespace {

class AdamaxNode final : public OptimizerNode {
 public:
  explicit AdamaxNode(const AdamaxConfig& config)
      : OptimizerNode(optimizer_options(config, "Adamax")), config_(config) {}
  std::string class_name() const override { return "Adamax"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum", "norm"}; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    const double correction = 1.0 - power_of(config_.beta_1, step + 1, dtype);
    return {learning_rate, 1.0 - config_.beta_1, config_.beta_2, correction, config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Adamax>(range); }

 private:
  AdamaxConfig config_;
};

}  // namespace

Adamax::Adamax(const Config& config) : Optimizer(std::make_shared<AdamaxNode>(config)) {}

Adamax::Adamax(LearningRate learning_rate, Config config)
    : Adamax(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
