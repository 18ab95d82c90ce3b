#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/base/variable_update.h>
#include <nyala/api/optimizers/lamb.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>

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
    return {learning_rate, 1.0 - power_of(config_.beta_1, step + 1, dtype),
            1.0 - power_of(config_.beta_2, step + 1, dtype)};
  }

  void update(const UpdateRange& range) const override {
    const VariableUpdate v(range);
    const Tensor w = v.weight(), g = v.gradient(), m = v.slot(0), u = v.slot(1);
    VariableUpdate::assign(m, m + (g - m) * (1.0 - config_.beta_1));
    VariableUpdate::assign(u, u + (ops::square(g) - u) * (1.0 - config_.beta_2));
    const Tensor step = m / v.number(1) / (ops::sqrt(u / v.number(2)) + config_.epsilon);
    VariableUpdate::assign(w, w - trust(norm_of(w), norm_of(step)) * v.number(0) * step);
  }

 private:
  static Tensor trust(const Tensor& of_weight, const Tensor& of_step) {
    const Tensor zero = ops::zeros_like(of_weight), one = ops::ones_like(of_weight);
    const Tensor both = ops::logical_and(ops::greater(of_weight, zero), ops::greater(of_step, zero));
    return ops::where(both, of_weight / of_step, one);
  }

  LambConfig config_;
};

}  // namespace

Lamb::Lamb(const Config& config) : Optimizer(std::make_shared<LambNode>(config)) {}

Lamb::Lamb(LearningRate learning_rate, Config config)
    : Lamb(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
