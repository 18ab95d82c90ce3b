#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/normalization/rms_normalization.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/trailing_axes.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/nn/layer_normalization.h>

namespace nyala {

using namespace nyala::detail;

void RMSNormalizationConfig::fields(FieldVisitor& v) {
  visit_axes(v, "axis", axis);
  v.field("epsilon", epsilon);
}

namespace {

class RMSNormalizationNode final : public LayerNode {
 public:
  explicit RMSNormalizationNode(const RMSNormalizationConfig& config) : config_(config) {
    check_axes("RMSNormalization", config.axis);
    check_not_negative("RMSNormalization", "epsilon", config.epsilon);
  }
  std::string class_name() const override { return "RMSNormalization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    scale_ = b.weight("scale", TrailingAxes(config_.axis.list(), input).sizes(input), "ones");
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = wide(input, compute_dtype());
    const TrailingAxes axes(config_.axis.list(), x.shape());
    const Tensor y = ops::rms_normalization(axes.to_end(x), ops::cast(c[scale_], x.dtype()),
                                            {.epsilon = config_.epsilon, .axes = axes.count()});
    return ops::cast(axes.back(y), compute_dtype());
  }

 private:
  RMSNormalizationConfig config_;
  Variable scale_;
};

}  // namespace

RMSNormalization::RMSNormalization(const Config& config) : Layer(node_from<RMSNormalizationNode>(config)) {}

RMSNormalization::RMSNormalization(int axis, Config config)
    : RMSNormalization(with(std::move(config), &Config::axis, axis)) {}

}  // namespace nyala
