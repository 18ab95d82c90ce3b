#include <nyala/api/layers/concatenate.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/concatenate.h>

namespace nyala {

void ConcatenateConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

namespace {

class ConcatenateNode final : public LayerNode {
 public:
  explicit ConcatenateNode(const ConcatenateConfig& config) : config_(config) {}
  std::string class_name() const override { return "Concatenate"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  bool takes_many() const override { return true; }
  using LayerNode::build;
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

  using LayerNode::call;
  Outputs call(Call&, Inputs inputs) const override {
    return {ops::concatenate(Tensors(inputs.begin(), inputs.end()), static_cast<int>(config_.axis))};
  }

 private:
  ConcatenateConfig config_;
};

}  // namespace

Concatenate::Concatenate(const Config& config)
    : Layer(finish_layer(std::make_shared<ConcatenateNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Concatenate::Concatenate(int64_t axis, Config config)
    : Concatenate([&] {
        config.axis = axis;
        return std::move(config);
      }()) {}

}  // namespace nyala
