#include <nyala/api/optimizers/base/base_optimizer.h>

#include <nyala/api/optimizers/base/optimizer_state.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

std::string shown(double value) { return std::isnan(value) ? "None" : detail::number_text(value); }

void check_clipping(const OptimizerOptions& o) {
  int given = 0;
  for (double limit : {o.clipnorm, o.clipvalue, o.global_clipnorm}) given += std::isnan(limit) ? 0 : 1;
  if (given > 1)
    throw InvalidArgumentError(
        "optimizer: expected at most one of clipnorm, clipvalue and global_clipnorm, received "
        "clipnorm=" +
        shown(o.clipnorm) + ", clipvalue=" + shown(o.clipvalue) +
        ", global_clipnorm=" + shown(o.global_clipnorm));
}

void check_options(const OptimizerOptions& o) {
  check_clipping(o);
  if (o.gradient_accumulation_steps < 0 || o.gradient_accumulation_steps == 1)
    throw InvalidArgumentError(
        "optimizer: expected gradient_accumulation_steps >= 2 (or 0: none), received " +
        std::to_string(o.gradient_accumulation_steps));
  if (o.use_ema && !(o.ema_momentum >= 0.0 && o.ema_momentum <= 1.0))
    throw InvalidArgumentError("optimizer: expected ema_momentum in [0, 1], received " +
                               shown(o.ema_momentum));
  if (o.use_ema && o.ema_overwrite_frequency < 0)
    throw InvalidArgumentError("optimizer: expected ema_overwrite_frequency >= 1 (or 0: never), received " +
                               std::to_string(o.ema_overwrite_frequency));
}

}  // namespace

BaseOptimizer::BaseOptimizer(OptimizerOptions options) : options_(std::move(options)) {
  check_options(options_);
}

double BaseOptimizer::loss_scale() const {
  return std::isnan(options_.loss_scale_factor) ? 1.0 : options_.loss_scale_factor;
}

void BaseOptimizer::restrict_step(ParameterStore& store, const Variables& active) {
  UpdateRule& rule = rule_for(store, variables(), active);
  part_ = &rule == this ? nullptr : &rule;
}

std::vector<OptimizerVariable> BaseOptimizer::variables_for_file() const {
  std::vector<OptimizerVariable> result = shared_variables_for_file();
  for (OptimizerVariable& variable : result) variable.value = detail::copy_on_host(variable.value);
  return result;
}

void BaseOptimizer::move_to(ParameterStore& store, const std::vector<Tensor>& state) {
  build(store, Variables(variables()));
  load_variables(state);
}

}  // namespace nyala
