#include <algorithm>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/reshape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void ReshapeConfig::fields(FieldVisitor& v) { v.field("target_shape", target_shape); }

namespace {

std::string list_of(const std::vector<int64_t>& sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "(" : ", ") + std::to_string(size);
  return text + ")";
}

class ReshapeNode final : public LayerNode {
 public:
  explicit ReshapeNode(const ReshapeConfig& config) : config_(config) {
    const auto& sizes = config.target_shape;
    const auto unknown = std::count(sizes.begin(), sizes.end(), -1);
    if (unknown > 1 || std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < -1; }))
      throw InvalidArgumentError("Reshape: expected sizes of 0 or more and at most one -1, received " +
                                 list_of(sizes));
  }
  std::string class_name() const override { return "Reshape"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { output_shape(input); }

  Tensor call(Call&, const Tensor& x) const override {
    const Shape shape = output_shape(x.shape());
    // Two unknown sizes (the batch and another) are more than the op can tell apart.
    if (x.is_abstract()) return Tensor::abstract(shape, x.dtype(), x.device());
    return ops::reshape(x, shape);
  }

 private:
  /// Throws ShapeError where the numbers of elements differ.
  Shape output_shape(const Shape& input) const {
    if (input.rank() < 1) throw ShapeError("expected an input of rank 1 or more, received a scalar");
    const Shape rest = input.slice(1, input.rank());
    Shape target(config_.target_shape), out = input.slice(0, 1);
    if (rest.is_known()) fill_unknown(target, rest.num_elements(), input);
    for (int64_t size : target) out.append(size);
    return out;
  }

  void fill_unknown(Shape& target, int64_t elements, const Shape& input) const {
    int64_t known = 1;
    int unknown = -1;
    for (int axis = 0; axis < target.rank(); ++axis) {
      if (target[axis] == None)
        unknown = axis;
      else
        known *= target[axis];
    }
    const bool fits = unknown < 0 ? known == elements : known > 0 && elements % known == 0;
    if (!fits)
      throw ShapeError("expected " + std::to_string(elements) + " elements per row, as the input of shape " +
                       input.to_string() + " has, received target_shape " + list_of(config_.target_shape));
    if (unknown >= 0) target.set(unknown, elements / known);
  }

  ReshapeConfig config_;
};

}  // namespace

Reshape::Reshape(const Config& config) : Layer(node_from<ReshapeNode>(config)) {}

}  // namespace nyala
