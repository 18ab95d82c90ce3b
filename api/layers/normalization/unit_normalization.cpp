#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/normalization/unit_normalization.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/trailing_axes.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void UnitNormalizationConfig::fields(FieldVisitor& v) { visit_axes(v, "axis", axis); }

namespace {

class UnitNormalizationNode final : public LayerNode {
 public:
  explicit UnitNormalizationNode(const UnitNormalizationConfig& config) : config_(config) {
    check_axes("UnitNormalization", config.axis);
  }
  std::string class_name() const override { return "UnitNormalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { TrailingAxes(config_.axis.list(), input); }

  Tensor call(Call&, const Tensor& input) const override {
    const Tensor x = wide(input, compute_dtype());
    // The bound stands under the root, so that the gradient at 0 is a number.
    const Tensor squares = ops::sum(x * x, config_.axis.list(), true);
    const Tensor bound = Tensor::full({}, 1e-24, x.dtype(), x.device());
    return ops::cast(x / ops::sqrt(ops::maximum(squares, bound)), compute_dtype());
  }

 private:
  UnitNormalizationConfig config_;
};

}  // namespace

UnitNormalization::UnitNormalization(const Config& config)
    : Layer(node_from<UnitNormalizationNode>(config)) {}

UnitNormalization::UnitNormalization(int axis, Config config)
    : UnitNormalization(with(std::move(config), &Config::axis, axis)) {}

}  // namespace nyala
