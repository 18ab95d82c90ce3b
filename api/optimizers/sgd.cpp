#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/sgd.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void SGDConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("momentum", momentum);
  v.field("nesterov", nesterov);
  visit_optimizer_options(v, *this);
}

namespace {

class SgdNode final : public OptimizerNode {
 public:
  explicit SgdNode(const SGDConfig& config)
      : OptimizerNode(optimizer_options(config, "SGD")), config_(config) {
    if (!(config.momentum >= 0.0 && config.momentum <= 1.0))
      throw InvalidArgumentError("SGD: expected momentum in [0, 1], received " +
                                 number_text(config.momentum));
  }
  std::string class_name() const override { return "SGD"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override {
    return config_.momentum != 0.0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate, config_.momentum};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override {
    if (config_.momentum == 0.0)
      run_update<formulas::Sgd>(range);
    else
      config_.nesterov ? run_update<formulas::NesterovMomentum>(range)
                       : run_update<formulas::PlainMomentum>(range);
  }

 private:
  SGDConfig config_;
};

}  // namespace

SGD::SGD(const Config& config) : Optimizer(std::make_shared<SgdNode>(config)) {}

SGD::SGD(LearningRate learning_rate, Config config)
    : SGD(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
