#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/ftrl.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void FtrlConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("learning_rate_power", learning_rate_power);
  v.field("initial_accumulator_value", initial_accumulator_value);
  v.field("l1_regularization_strength", l1_regularization_strength);
  v.field("l2_regularization_strength", l2_regularization_strength);
  v.field("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength);
  v.field("beta", beta);
  visit_optimizer_options(v, *this);
}

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw InvalidArgumentError(std::string("Ftrl: expected ") + what);
}

class FtrlNode final : public OptimizerNode {
 public:
  explicit FtrlNode(const FtrlConfig& config)
      : OptimizerNode(optimizer_options(config, "Ftrl")), config_(config) {
    require(config.initial_accumulator_value >= 0.0, "initial_accumulator_value >= 0");
    require(config.learning_rate_power <= 0.0, "learning_rate_power <= 0");
    require(config.l1_regularization_strength >= 0.0, "l1_regularization_strength >= 0");
    require(config.l2_regularization_strength >= 0.0, "l2_regularization_strength >= 0");
    require(config.l2_shrinkage_regularization_strength >= 0.0, "l2_shrinkage_regularization_strength >= 0");
  }
  std::string class_name() const override { return "Ftrl"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"accumulator", "linear"}; }
  double slot_initial(size_t slot) const override {
    return slot == 0 ? config_.initial_accumulator_value : 0.0;
  }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    const double l2 = config_.l2_regularization_strength + config_.beta / (2.0 * learning_rate);
    return {learning_rate, -config_.learning_rate_power, config_.l1_regularization_strength, l2,
            config_.l2_shrinkage_regularization_strength};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Ftrl>(range); }

 private:
  FtrlConfig config_;
};

}  // namespace

Ftrl::Ftrl(const Config& config) : Optimizer(std::make_shared<FtrlNode>(config)) {}

Ftrl::Ftrl(LearningRate learning_rate, Config config)
    : Ftrl(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
