// Shazeer and Stern 2018: instead of a mean square per weight one per row and per column, whose product over
// the mean is its rank-one estimate: rows + columns numbers instead of rows * columns. Keras keeps the
// product as a slot, too, and so does this, for the same files.
#include <limits>

#include <nyala/api/optimizers/adafactor.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/base/variable_update.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void AdafactorConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_2_decay", beta_2_decay);
  v.field("epsilon_1", epsilon_1);
  v.field("epsilon_2", epsilon_2);
  v.field("clip_threshold", clip_threshold);
  v.field("relative_step", relative_step);
  visit_optimizer_options(v, *this);
}

namespace {

bool has_factors(const Shape& shape) { return shape.rank() >= 2; }

Shape row_shape(const Shape& shape) { return shape.slice(0, shape.rank() - 1); }
Shape column_shape(const Shape& shape) { return shape.without(shape.rank() - 2); }

class AdafactorNode final : public OptimizerNode {
 public:
  explicit AdafactorNode(const AdafactorConfig& config)
      : OptimizerNode(optimizer_options(config, "Adafactor")), config_(config) {}
  std::string class_name() const override { return "Adafactor"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"r", "c", "velocity"}; }
  bool takes_whole_variables() const override { return true; }

  std::vector<SlotInFile> slots_in_file(const Variable& variable) const override {
    const Shape& shape = variable.shape();
    std::string velocity = variable.path() + "_velocity";
    std::replace(velocity.begin(), velocity.end(), '/', '_');
    if (!has_factors(shape))
      return {{0, variable.name(), {}, true}, {1, variable.name(), {}, true}, {2, velocity, shape}};
    return {{0, variable.name(), row_shape(shape)},
            {1, variable.name(), column_shape(shape)},
            {2, velocity, shape}};
  }

  std::vector<double> step_scalars(int64_t step, double learning_rate, DType) const override {
    const double t = static_cast<double>(step + 1);
    const double kept = 1.0 - std::pow(t, config_.beta_2_decay);
    return {std::min(learning_rate, 1.0 / std::sqrt(t)), kept, 1.0 - kept};
  }

  void update(const UpdateRange& range) const override {
    const VariableUpdate u(range);
    const Tensor w = u.weight(), g = u.gradient(), v = u.slot(2);
    const Tensor square = ops::square(g) + config_.epsilon_1;
    const auto averaged = [&u](const Tensor& slot, const Tensor& value) {
      return VariableUpdate::assign(slot, slot * u.number(1) + value * u.number(2));
    };
    const Shape& shape = range.shape;
    if (has_factors(shape)) {
      const Tensor r = averaged(u.slot(0, row_shape(shape)), ops::mean(square, {-1}));
      const Tensor c = averaged(u.slot(1, column_shape(shape)), ops::mean(square, {-2}));
      VariableUpdate::assign(v, ops::expand_dims(r / ops::mean(r, {-1}, true), -1) * ops::expand_dims(c, -2));
    } else {
      averaged(v, square);
    }
    const Tensor step = g / ops::sqrt(v);
    const Tensor size = at_least(root_mean_square(w), config_.epsilon_2) * u.number(0);
    const Tensor clipped = step / at_least(root_mean_square(step) / config_.clip_threshold, 1.0);
    VariableUpdate::assign(w, w - size * clipped);
  }

 private:
  static Tensor at_least(const Tensor& x, double minimum) {
    return ops::clip(x, minimum, std::numeric_limits<double>::infinity());
  }

  AdafactorConfig config_;
};

}  // namespace

Adafactor::Adafactor(const Config& config) : Optimizer(std::make_shared<AdafactorNode>(config)) {}

Adafactor::Adafactor(LearningRate learning_rate, Config config)
    : Adafactor(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
