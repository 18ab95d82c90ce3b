#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/nadam.h>

namespace nyala {

using namespace nyala::detail;

void NadamConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
}

namespace {

class NadamNode final : public OptimizerNode {
 public:
  explicit NadamNode(const NadamConfig& config)
      : OptimizerNode(optimizer_options(config, "Nadam")), config_(config) {}
  std::string class_name() const override { return "Nadam"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  std::vector<OptimizerVariable> derived_variables(int64_t updates) const override {
    return {{"variable", Tensor::scalar(static_cast<float>(product_until(updates)))}};
  }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    const double t = static_cast<double>(step + 1);
    const double now = momentum_of(t), next = momentum_of(t + 1.0), product = product_until(step + 1);
    return {learning_rate,        1.0 - config_.beta_1,
            1.0 - config_.beta_2, next,
            1.0 - product * next, 1.0 - now,
            1.0 - product,        1.0 - power_of(config_.beta_2, step + 1, dtype),
            config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Nadam>(range); }

 private:
  double momentum_of(double t) const { return config_.beta_1 * (1.0 - 0.5 * std::pow(0.96, t)); }

  double product_until(int64_t updates) const {
    double product = 1.0;
    for (int64_t t = 1; t <= updates && product > 0.0; ++t) product *= momentum_of(static_cast<double>(t));
    return product;
  }

  NadamConfig config_;
};

}  // namespace

Nadam::Nadam(const Config& config) : Optimizer(std::make_shared<NadamNode>(config)) {}

Nadam::Nadam(LearningRate learning_rate, Config config)
    : Nadam(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
