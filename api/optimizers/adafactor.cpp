// Shazeer and Stern 2018: instead of a mean square per weight one per row and per column, whose product over
// the mean is its rank-one estimate: rows + columns numbers instead of rows * columns. Keras keeps the
// product as a slot, too, and so does this, for the same files.
#include <algorithm>
#include <cmath>

#include <nyala/api/optimizers/adafactor.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/backend/ops/update/whole_updates.h>

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

  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override {
    ops::AdafactorDescriptor d = {.preparation = range.preparation,
                                  .epsilon_1 = config_.epsilon_1,
                                  .epsilon_2 = config_.epsilon_2,
                                  .clip_threshold = config_.clip_threshold};
    if (has_factors(range.shape)) {
      d.rows = range.shape[-2];
      d.columns = range.shape[-1];
      d.matrices = range.shape.num_elements() / (d.rows * d.columns);
    }
    run_update(ops::kAdafactorUpdate, d, range);
  }

 private:
  AdafactorConfig config_;
};

}  // namespace

Adafactor::Adafactor(const Config& config) : Optimizer(std::make_shared<AdafactorNode>(config)) {}

Adafactor::Adafactor(LearningRate learning_rate, Config config)
    : Adafactor(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
