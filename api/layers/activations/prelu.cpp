#include <nyala/api/layers/activations/prelu.h>
#include <nyala/api/layers/base/config_fields.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void PReLUConfig::fields(FieldVisitor& v) {
  v.field("alpha_initializer", alpha_initializer);
  v.field("alpha_regularizer", alpha_regularizer);
  v.field("alpha_constraint", alpha_constraint);
  v.field("shared_axes", shared_axes);
}

namespace {

class PReLUNode final : public LayerNode {
 public:
  explicit PReLUNode(const PReLUConfig& config) : config_(config) {}
  std::string class_name() const override { return "PReLU"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    Shape shape = input.slice(1, input.rank());
    for (const int64_t axis : config_.shared_axes) {
      if (axis < 1 || axis >= input.rank())
        throw ShapeError("expected shared_axes between 1 and " + std::to_string(input.rank() - 1) +
                         " for shape " + input.to_string() + ", received " + std::to_string(axis));
      shape.set(static_cast<int>(axis) - 1, 1);
    }
    alpha_ = b.weight("alpha", shape, config_.alpha_initializer,
                      {config_.alpha_regularizer, config_.alpha_constraint});
  }

  Tensor call(Call& c, const Tensor& x) const override { return ops::relu(x) - c[alpha_] * ops::relu(-x); }

 private:
  PReLUConfig config_;
  Variable alpha_;
};

}  // namespace

PReLU::PReLU(const Config& config) : Layer(node_from<PReLUNode>(config)) {}

}  // namespace nyala
