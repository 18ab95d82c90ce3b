#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/merging/concatenate.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void ConcatenateConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

namespace {

class ConcatenateNode final : public LayerNode {
 public:
  explicit ConcatenateNode(const ConcatenateConfig& config) : config_(config) { to_int(config.axis, "axis"); }
  std::string class_name() const override { return "Concatenate"; }
  bool supports_masking() const override { return true; }
  /// A step counts where any of its elements comes from a step that does, or from an input without a mask.
  /// These operations stand in files: those that Keras has there, none of which knows the number of rows.
  Tensors compute_mask(Inputs inputs, size_t) const override {
    Tensors masks;
    for (const Tensor& x : inputs) {
      const Tensor mask = mask_of(x);
      if (!mask.defined())
        masks.push_back(ops::ones_like(x, DType::bool_));
      else if (mask.rank() < x.rank())
        masks.push_back(ops::logical_or(ops::expand_dims(mask, -1), ops::zeros_like(x, DType::bool_)));
      else
        masks.push_back(mask);
    }
    return {ops::any(ops::concatenate(masks, static_cast<int>(config_.axis)), {-1})};
  }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  bool takes_many() const override { return true; }
  void build(Builder&, const Shapes& inputs) override {
    const Shape& first = inputs.at(0);
    const int axis = first.normalize_axis(static_cast<int>(config_.axis));
    for (const Shape& input : inputs) {
      const bool fits = input.rank() == first.rank() && (matches(input.without(axis), first.without(axis)) ||
                                                         matches(first.without(axis), input.without(axis)));
      if (!fits)
        throw ShapeError("expected inputs that differ along axis " + std::to_string(config_.axis) +
                         " alone, received " + first.to_string() + " and " + input.to_string());
    }
  }

  Outputs call(Call&, Inputs inputs) const override {
    return {ops::concatenate(Tensors(inputs.begin(), inputs.end()), static_cast<int>(config_.axis))};
  }

 private:
  ConcatenateConfig config_;
};

}  // namespace

Concatenate::Concatenate(const Config& config) : Layer(node_from<ConcatenateNode>(config)) {}

Concatenate::Concatenate(int64_t axis, Config config)
    : Concatenate(with(std::move(config), &Config::axis, axis)) {}

}  // namespace nyala
