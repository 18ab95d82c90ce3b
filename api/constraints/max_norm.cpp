#include <nyala/api/constraints/max_norm.h>
#include <nyala/api/constraints/norms.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void MaxNormConfig::fields(FieldVisitor& v) {
  v.field("max_value", max_value);
  v.field("axis", axis);
}

namespace {

class MaxNormNode final : public ConstraintNode {
 public:
  explicit MaxNormNode(const MaxNormConfig& config) : config_(config) {
    if (!(config.max_value >= 0))
      throw InvalidArgumentError("MaxNorm: expected max_value >= 0, received " +
                                 number_text(config.max_value));
    to_ints(config.axis, "axis");
  }
  std::string class_name() const override { return "MaxNorm"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor project(const Tensor& w) const override {
    const Tensor norms = norms_of(w, config_.axis);
    return w * (ops::clip(norms, 0.0, config_.max_value) / (norms + kNormEpsilon));
  }

 private:
  MaxNormConfig config_;
};

}  // namespace

MaxNorm::MaxNorm(const Config& config) : Constraint(std::make_shared<MaxNormNode>(config)) {}

MaxNorm::MaxNorm(double max_value, Config config)
    : MaxNorm([&] {
        config.max_value = max_value;
        return config;
      }()) {}

}  // namespace nyala
