#include <nyala/api/constraints/norms.h>
#include <nyala/api/constraints/unit_norm.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void UnitNormConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

namespace {

class UnitNormNode final : public ConstraintNode {
 public:
  explicit UnitNormNode(const UnitNormConfig& config) : config_(config) { to_ints(config.axis, "axis"); }
  std::string class_name() const override { return "UnitNorm"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor project(const Tensor& w) const override { return w / (norms_of(w, config_.axis) + kNormEpsilon); }

 private:
  UnitNormConfig config_;
};

}  // namespace

UnitNorm::UnitNorm(const Config& config) : Constraint(std::make_shared<UnitNormNode>(config)) {}

}  // namespace nyala
