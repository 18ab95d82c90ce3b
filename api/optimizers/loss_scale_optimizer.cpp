// Micikevicius et al. 2018: the loss is multiplied so that small gradients survive in few bits; where a
// gradient is not finite the step is left out and the scale halved, after some good steps it is doubled.
// Numbers and their order are Keras'.
#include <nyala/api/optimizers/loss_scale_optimizer.h>

#include <atomic>

#include <nyala/api/base/names.h>
#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/optimizers/base/update_slices.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/finite_check.h>

namespace nyala {

using namespace nyala::detail;

namespace {

bool all_finite(const UpdatePlace& place, const Variables& variables) {
  if (variables.empty()) return true;
  const DType dtype = variables.front().dtype();
  const std::vector<Segment> segments = merged_segments(variables);
  std::atomic<bool> finite = true;
  for_slices(place, [&](int slice) {
    for (const Segment& whole : segments) {
      const int64_t begin = whole.count * slice / place.num_slices;
      const int64_t end = whole.count * (slice + 1) / place.num_slices;
      if (begin == end || !finite) continue;
      const Segment part{whole.chunk, whole.offset + begin, end - begin};
      const Tensor gradients = place.store->gradients(place.gradient_replica, dtype, part);
      if (ops::count_not_finite(gradients).to_vector<double>()[0] > 0) finite = false;
    }
  });
  return finite;
}

void check(const LossScaleOptimizerConfig& config) {
  const auto refuse = [](const std::string& message) {
    throw InvalidArgumentError("LossScaleOptimizer: " + message);
  };
  if (!config.inner_optimizer) refuse("expected an inner_optimizer, received none");
  const BaseOptimizer& inner = config.inner_optimizer.node();
  if (dynamic_cast<const OptimizerGroup*>(&inner)) refuse("cannot wrap a " + inner.class_name());
  if (inner.options().gradient_accumulation_steps > 0)
    refuse(
        "expected an inner optimizer without gradient_accumulation_steps, since gathered gradients would "
        "be of different scales; received one with " +
        std::to_string(inner.options().gradient_accumulation_steps));
  if (!(config.initial_scale > 0))
    refuse("expected initial_scale > 0, received " + number_text(config.initial_scale));
  if (config.dynamic_growth_steps < 1)
    refuse("expected dynamic_growth_steps >= 1, received " + std::to_string(config.dynamic_growth_steps));
}

class LossScaleNode final : public OptimizerGroup {
 public:
  explicit LossScaleNode(const LossScaleOptimizerConfig& config)
      : OptimizerGroup({.learning_rate = 0.0,
                        .name = config.name.empty() ? unique_name("LossScaleOptimizer") : config.name}),
        initial_scale_(config.initial_scale),
        growth_steps_(config.dynamic_growth_steps) {
    add_member(config.inner_optimizer);
    set_scale(static_cast<float>(config.initial_scale));
  }

  std::string class_name() const override { return "LossScaleOptimizer"; }
  void fields(FieldVisitor& v) override {
    v.field("initial_scale", initial_scale_);
    v.field("dynamic_growth_steps", growth_steps_);
  }
  int64_t iterations() const override { return inner().iterations(); }
  int64_t steps() const override { return inner().steps(); }
  bool made_no_step() const override { return !finished_a_step_ && inner().made_no_step(); }
  double learning_rate() const override { return inner().learning_rate(); }
  void set_learning_rate(double rate) override { inner().set_learning_rate(rate); }
  double loss_scale() const override { return scale_; }
  double scale_for_loss() override {
    scales_losses_.store(true, std::memory_order_relaxed);
    return scale_;
  }

 protected:
  size_t member_of(const Variable&) override { return 0; }
  int64_t own_iteration() const override { return 0; }
  std::vector<OptimizerVariable> own_variables() const override {
    return {{"step_counter", Tensor::scalar(counter_)}, {"dynamic_scale", Tensor::scalar(scale_)}};
  }
  void load_own_variables(std::span<const Tensor> values) override {
    counter_ = static_cast<int64_t>(values[0].item());
    set_scale(static_cast<float>(values[1].item()));
    finished_a_step_ = true;
  }
  bool admits(const UpdatePlace& place, const Variables& variables) override {
    return all_finite(place, variables);
  }
  void finish_step(bool finite) override {
    if (!finished_a_step_ && !scales_losses_.load(std::memory_order_relaxed))
      log(LogChannel::warning, "LossScaleOptimizer: gradients are divided by " + number_text(scale_) +
                                   ", but nobody has multiplied the loss by it; take the gradients of "
                                   "optimizer.scale_loss(loss), or compile({.auto_scale_loss = false})");
    finished_a_step_ = true;
    if (finite && ++counter_ < growth_steps_) return;
    counter_ = 0;
    set_scale(scale_ * (finite ? 2.0f : 0.5f));
  }

 private:
  BaseOptimizer& inner() const { return members().front().node(); }
  void set_scale(float scale) {
    scale_ = scale;
    inner().set_loss_scale_factor(scale);
  }

  double initial_scale_;
  int64_t growth_steps_;
  float scale_ = 1.0f;
  int64_t counter_ = 0;
  bool finished_a_step_ = false;
  std::atomic<bool> scales_losses_ = false;  // somebody does: replicas ask at the same time
};

std::shared_ptr<BaseOptimizer> checked_node(const LossScaleOptimizerConfig& config) {
  check(config);
  return std::make_shared<LossScaleNode>(config);
}

}  // namespace

LossScaleOptimizer::LossScaleOptimizer(const Config& config) : Optimizer(checked_node(config)) {}

LossScaleOptimizer::LossScaleOptimizer(const Optimizer& inner_optimizer, Config config)
    : LossScaleOptimizer([&] {
        config.inner_optimizer = inner_optimizer;
        return std::move(config);
      }()) {}

Optimizer LossScaleOptimizer::inner_optimizer() const {
  return static_cast<const OptimizerGroup&>(node()).members().front();
}

}  // namespace nyala
