#include <nyala/api/optimizers/adagrad.h>
#include <nyala/api/optimizers/base/optimizer_config.h>

namespace nyala {

using namespace nyala::detail;

void AdagradConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("initial_accumulator_value", initial_accumulator_value);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
}

namespace {

class AdagradNode final : public OptimizerNode {
 public:
  explicit AdagradNode(const AdagradConfig& config)
      : OptimizerNode(optimizer_options(config, "Adagrad")), config_(config) {}
  std::string class_name() const override { return "Adagrad"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"accumulator"}; }
  double slot_initial(size_t) const override { return config_.initial_accumulator_value; }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate, config_.epsilon};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::Adagrad>(range); }

 private:
  AdagradConfig config_;
};

}  // namespace

Adagrad::Adagrad(const Config& config) : Optimizer(std::make_shared<AdagradNode>(config)) {}

Adagrad::Adagrad(LearningRate learning_rate, Config config)
    : Adagrad(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
