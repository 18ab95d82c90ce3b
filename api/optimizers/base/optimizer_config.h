#pragma once

#include <nyala/api/base/names.h>
#include <nyala/api/optimizers/base/optimizer_node.h>
#include <nyala/backend/ops/update/update_formulas.h>

namespace nyala::detail {

/// The options that a Config shares with all optimizers. An empty name becomes an automatic one of
/// `class_name`.
template <class Config>
OptimizerOptions optimizer_options(const Config& c, const char* class_name) {
  return {.learning_rate = c.learning_rate,
          .weight_decay = c.weight_decay,
          .clipnorm = c.clipnorm,
          .clipvalue = c.clipvalue,
          .global_clipnorm = c.global_clipnorm,
          .use_ema = c.use_ema,
          .ema_momentum = c.ema_momentum,
          .ema_overwrite_frequency = c.ema_overwrite_frequency,
          .loss_scale_factor = c.loss_scale_factor,
          .gradient_accumulation_steps = c.gradient_accumulation_steps,
          .name = c.name.empty() ? unique_name(class_name) : c.name};
}

/// Shows those of them that all optimizers have at one place, behind weight_decay.
template <class Config>
void visit_shared_options(FieldVisitor& v, Config& c) {
  v.optional("clipnorm", c.clipnorm);
  v.optional("clipvalue", c.clipvalue);
  v.optional("global_clipnorm", c.global_clipnorm);
  v.field("use_ema", c.use_ema);
  v.field("ema_momentum", c.ema_momentum);
  v.optional("ema_overwrite_frequency", c.ema_overwrite_frequency, 0);
  v.optional("loss_scale_factor", c.loss_scale_factor);
  v.optional("gradient_accumulation_steps", c.gradient_accumulation_steps, 0);
}

/// Shows those of them that are behind an optimizer's own.
template <class Config>
void visit_optimizer_options(FieldVisitor& v, Config& c) {
  v.optional("weight_decay", c.weight_decay);
  visit_shared_options(v, c);
}

/// base^exponent as Keras computes it, in the dtype of the weights. In float32 1 - 0.999^1 is 1.3e-5 off, and
/// so are the weights.
double power_of(double base, int64_t exponent, DType dtype);

/// Runs an update op on a range, with a descriptor that begins with the range's preparation, or is it.
void run_update(const OpDef& op, const Descriptor& descriptor, const UpdateRange& range);
inline void run_update(const OpDef& op, const UpdateRange& range) {
  run_update(op, range.preparation, range);
}

/// Runs a formula of backend/ops/update/update_formulas.h on a range: run_update<formulas::Lion>(range).
template <template <class> class Formula>
void run_update(const UpdateRange& range) {
  run_update(ops::detail::update_op<Formula>(), range);
}

/// The config with another learning rate.
template <class Config>
Config with_learning_rate(Config config, LearningRate rate) {
  config.learning_rate = std::move(rate);
  return config;
}

}  // namespace nyala::detail
