#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/schedule_free_adamw.h>

namespace nyala {

using namespace nyala::detail;

void ScheduleFreeAdamWConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  v.field("warmup_steps", warmup_steps);
  visit_optimizer_options(v, *this);
}

namespace {

class ScheduleFreeAdamWNode final : public OptimizerNode {
 public:
  explicit ScheduleFreeAdamWNode(const ScheduleFreeAdamWConfig& config)
      : OptimizerNode(optimizer_options(config, "ScheduleFreeAdamW")), config_(config) {}
  std::string class_name() const override { return "ScheduleFreeAdamW"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  bool slot_begins_as_weight(size_t slot) const override { return slot == 0; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    const double t = static_cast<double>(step + 1);
    const double warm =
        config_.warmup_steps > 0 ? std::min(t / static_cast<double>(config_.warmup_steps), 1.0) : 1.0;
    return {learning_rate * warm, config_.beta_1,
            1.0 - config_.beta_2, 1.0 - power_of(config_.beta_2, step + 1, dtype),
            config_.epsilon,      1.0 / t};
  }
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override { run_update<formulas::ScheduleFreeAdamw>(range); }

 private:
  ScheduleFreeAdamWConfig config_;
};

}  // namespace

ScheduleFreeAdamW::ScheduleFreeAdamW(const Config& config)
    : Optimizer(std::make_shared<ScheduleFreeAdamWNode>(config)) {}

ScheduleFreeAdamW::ScheduleFreeAdamW(LearningRate learning_rate, Config config)
    : ScheduleFreeAdamW(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
