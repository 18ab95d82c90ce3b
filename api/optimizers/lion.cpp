#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/lion.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void LionConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  visit_optimizer_options(v, *this);
}

namespace {

class LionNode final : public OptimizerNode {
 public:
  explicit LionNode(const LionConfig& config)
      : OptimizerNode(optimizer_options(config, "Lion")), config_(config) {
    if (!(config.beta_1 > 0.0 && config.beta_1 <= 1.0))
      throw InvalidArgumentError("Lion: expected beta_1 in (0, 1], received " + number_text(config.beta_1));
  }
  std::string class_name() const override { return "Lion"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum"}; }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate, config_.beta_1, 1.0 - config_.beta_1, config_.beta_2, 1.0 - config_.beta_2};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Lion>(range); }

 private:
  LionConfig config_;
};

}  // namespace

Lion::Lion(const Config& config) : Optimizer(std::make_shared<LionNode>(config)) {}

Lion::Lion(LearningRate learning_rate, Config config)
    : Lion(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
