#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct LossScaleOptimizerConfig {
  NamesRequired names_required = NamesRequired();
  Optimizer inner_optimizer = {};  // Keras has no default
  double initial_scale = 32768.0;
  int64_t dynamic_growth_steps = 2000;
  std::string name = {};
};

/// Another optimizer whose losses are multiplied by a number, so that small gradients do not vanish, and
/// whose gradients are divided by it. A step in which some gradient is infinite or NaN, summed over the whole
/// batch, changes no weights and halves the number; `dynamic_growth_steps` steps without one double it.
/// Variables in files: iteration (0), learning_rate (0), step_counter, dynamic_scale, then those of the inner
/// optimizer. fit() scales losses; in a train_step() or loop of one's own the tape is asked for the gradients
/// of scale_loss(loss). The first step without is a warning in the log.
class LossScaleOptimizer : public Optimizer {
 public:
  using Config = LossScaleOptimizerConfig;
  /// The inner optimizer's loss_scale_factor is no longer used, as in Keras. Throws InvalidArgumentError for
  /// a scale that is not above 0, fewer growth steps than 1, no inner optimizer, one that gathers gradients
  /// over steps (gradient_accumulation_steps: they would be of different scales), or another wrapper.
  explicit LossScaleOptimizer(const Config& config);
  template <size_t N>
  explicit LossScaleOptimizer(const NoSuchField (&)[N]) = delete;
  explicit LossScaleOptimizer(const Optimizer& inner_optimizer, Config config = {});
  template <size_t N>
  explicit LossScaleOptimizer(const Optimizer&, const NoSuchField (&)[N]) = delete;

  Optimizer inner_optimizer() const;
  /// What losses are multiplied by now.
  double dynamic_scale() const { return node().scale_for_loss(); }
};

}  // namespace nyala
