#include <nyala/api/constraints/min_max_norm.h>
#include <nyala/api/constraints/norms.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void MinMaxNormConfig::fields(FieldVisitor& v) {
  v.field("min_value", min_value);
  v.field("max_value", max_value);
  v.field("rate", rate);
  v.field("axis", axis);
}

namespace {

class MinMaxNormNode final : public ConstraintNode {
 public:
  explicit MinMaxNormNode(const MinMaxNormConfig& config) : config_(config) {
    if (!(config.min_value <= config.max_value))
      throw InvalidArgumentError("MinMaxNorm: expected min_value <= max_value, received " +
                                 number_text(config.min_value) + " and " +
                                 number_text(config.max_value));
    to_ints(config.axis, "axis");
  }
  std::string class_name() const override { return "MinMaxNorm"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor project(const Tensor& w) const override {
    const Tensor norms = norms_of(w, config_.axis);
    const Tensor clipped = ops::clip(norms, config_.min_value, config_.max_value);
    const Tensor wanted = clipped * config_.rate + norms * (1.0 - config_.rate);
    return w * (wanted / (norms + kNormEpsilon));
  }

 private:
  MinMaxNormConfig config_;
};

}  // namespace

MinMaxNorm::MinMaxNorm(const Config& config) : Constraint(std::make_shared<MinMaxNormNode>(config)) {}

}  // namespace nyala
