#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/lamb.h>
#include <nyala/backend/ops/update/whole_updates.h>

namespace nyala {

using namespace nyala::detail;

void LambConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
}

namespace {

class LambNode final : public OptimizerNode {
 public:
  explicit LambNode(const LambConfig& config)
      : OptimizerNode(optimizer_options(config, "Lamb")), config_(config) {}
  std::string class_name() const override { return "Lamb"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  bool takes_whole_variables() const override { return true; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    return {learning_rate,
            1.0 - config_.beta_1,
            1.0 - config_.beta_2,
            1.0 - power_of(config_.beta_1, step + 1, dtype),
            1.0 - power_of(config_.beta_2, step + 1, dtype),
            config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update(ops::kLambUpdate, range); }

 private:
  LambConfig config_;
};

}  // namespace

Lamb::Lamb(const Config& config) : Optimizer(std::make_shared<LambNode>(config)) {}

Lamb::Lamb(LearningRate learning_rate, Config config)
    : Lamb(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
