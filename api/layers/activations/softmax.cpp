#include <nyala/api/layers/activations/softmax.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/nn/softmax.h>

namespace nyala {

using namespace nyala::detail;

void SoftmaxConfig::fields(FieldVisitor& v) { visit_axes(v, "axis", axis); }

namespace {

class SoftmaxNode final : public LayerNode {
 public:
  explicit SoftmaxNode(const SoftmaxConfig& config) : config_(config) {
    if (config.axis.list().empty()) throw InvalidArgumentError("Softmax: expected an axis, received none");
  }
  std::string class_name() const override { return "Softmax"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  bool uses_mask() const override { return true; }
  Tensor call(Call&, const Tensor& input) const override {
    const Tensor mask = mask_of(input), x = as_floating(with_mask(input, {}), compute_dtype());
    if (!mask.defined()) return ops::softmax(x, config_.axis);
    check_mask(mask.shape(), x.shape());
    const auto number = [&](double value) { return Tensor::full({}, value, x.dtype(), x.device()); };
    const Tensor kept = mask.dtype() == DType::bool_ ? mask : ops::greater(mask, number(0.5));
    const double hidden = x.dtype() == DType::float16 ? -3e4 : -1e9;
    return ops::where(kept, ops::softmax(ops::where(kept, x, number(hidden)), config_.axis), number(0.0));
  }

 private:
  /// Broadcasting must not make the input larger.
  static void check_mask(const Shape& mask, const Shape& input) {
    bool fits = mask.rank() <= input.rank();
    for (int axis = 1; fits && axis <= mask.rank(); ++axis) {
      const int64_t size = mask[mask.rank() - axis], whole = input[input.rank() - axis];
      fits = size == 1 || size == whole || size == None || whole == None;
    }
    if (!fits)
      throw ShapeError("expected a mask whose axes, from the last on, are 1 or those of the input of shape " +
                       input.to_string() + ", received shape " + mask.to_string());
  }

  SoftmaxConfig config_;
};

}  // namespace

Softmax::Softmax(const Config& config) : Layer(node_from<SoftmaxNode>(config)) {}

}  // namespace nyala
