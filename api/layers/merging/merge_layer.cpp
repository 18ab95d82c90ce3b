#include <nyala/api/layers/merging/merge_layer.h>

#include <algorithm>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void MergeConfig::fields(FieldVisitor&) {}

namespace {

/// What tells one merging layer from another: Keras' name, and what it makes of inputs of one rank, which may
/// carry masks.
struct MergeKind {
  const char* class_name;
  Tensor (*merge)(Inputs inputs);
  size_t num_inputs = 0;  // 0: any
};

int largest_rank(const Shapes& shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  return rank;
}

/// With axes of size 1 behind the batch, up to the largest rank.
Shape raised(const Shape& shape, const Shapes& all) {
  if (shape.rank() == largest_rank(all)) return shape;
  Shape out = shape.slice(0, 1);
  while (out.rank() + shape.rank() - 1 < largest_rank(all)) out.append(1);
  for (int axis = 1; axis < shape.rank(); ++axis) out.append(shape[axis]);
  return out;
}

Tensor raised(Tensor x, const Shapes& all) {
  while (x.rank() < largest_rank(all)) x = ops::expand_dims(x, 1);
  return x;
}

class MergeNode final : public LayerNode {
 public:
  explicit MergeNode(const MergeKind& kind) : kind_(kind) {}
  std::string class_name() const override { return kind_.class_name; }
  bool supports_masking() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t) const override { return {merged_mask(inputs)}; }

  bool takes_many() const override { return true; }
  void build(Builder&, const Shapes& inputs) override {
    if (kind_.num_inputs > 0 && inputs.size() != kind_.num_inputs)
      throw InvalidArgumentError("expected " + std::to_string(kind_.num_inputs) + " inputs, received " +
                                 std::to_string(inputs.size()));
    Shape merged = raised(inputs.at(0), inputs);
    for (const Shape& input : inputs) {
      const Shape shape = raised(input, inputs);
      if (input.rank() > 0 && inputs[0].rank() > 0 && !matches(input.slice(0, 1), inputs[0].slice(0, 1)) &&
          !matches(inputs[0].slice(0, 1), input.slice(0, 1)))
        throw ShapeError("expected inputs of one batch size, received " + inputs[0].to_string() + " and " +
                         input.to_string());
      merged = broadcast(merged, shape, kind_.class_name);
    }
  }

  Outputs call(Call&, Inputs inputs) const override {
    Shapes shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    Tensors level;
    for (const Tensor& input : inputs) level.push_back(raised(input, shapes));
    return {kind_.merge(level)};
  }

 private:
  MergeKind kind_;
};

std::shared_ptr<LayerNode> merge_node(const MergeKind& kind, const MergeConfig& config) {
  return finish_layer(std::make_shared<MergeNode>(kind), options_of(config));
}

/// The mask of `x` as a condition for its elements, or an undefined tensor.
Tensor element_mask(const Tensor& x) {
  Tensor mask = mask_of(x);
  while (mask.defined() && mask.rank() < x.rank()) mask = ops::expand_dims(mask, -1);
  return mask;
}

/// Of neighbours from the first on: as Keras' Maximum and Minimum a step that its mask leaves out gives way
/// to what the inputs in front made of it, and is replaced by what comes behind.
Tensor merge_unmasked(Inputs inputs, Tensor (*merge)(const Operand&, const Operand&)) {
  Tensor result = inputs[0], counts = element_mask(inputs[0]);
  for (const Tensor& input : inputs.subspan(1)) {
    const Tensor mask = element_mask(input);
    const Tensor x = mask.defined() ? ops::where(mask, input, result) : input;
    if (counts.defined()) result = ops::where(counts, result, x);
    counts = mask.defined() && counts.defined() ? ops::logical_or(counts, mask) : Tensor();
    result = merge(result, x);
  }
  return result;
}

/// divided(sum of the inputs), for many 16-bit ones in float32 and rounded once.
template <class Divide>
Tensor sum_of(Inputs inputs, Divide&& divided) {
  const DType dtype = inputs[0].dtype();
  const bool widens = inputs.size() > 2 && is_half(dtype) &&
                      std::ranges::all_of(inputs, [&](const Tensor& x) { return x.dtype() == dtype; });
  Tensor sum = widens ? at_least_float32(inputs[0]) : inputs[0];
  for (const Tensor& input : inputs.subspan(1)) sum = ops::add(sum, widens ? at_least_float32(input) : input);
  return widens ? ops::cast(divided(sum), dtype) : divided(sum);
}

Tensor sum_of(Inputs inputs) {
  return sum_of(inputs, [](const Tensor& sum) { return sum; });
}

Tensor difference_of(Inputs inputs) { return ops::subtract(inputs[0], inputs[1]); }

Tensor product_of(Inputs inputs) {
  const Tensor one = Tensor::full({}, 1.0, inputs[0].dtype(), inputs[0].device());
  const Tensor none = Tensor::full({}, 0.0, inputs[0].dtype(), inputs[0].device());
  Tensor product, counts;
  bool all_masked = true;
  for (const Tensor& input : inputs) {
    const Tensor mask = element_mask(input);
    const Tensor x = mask.defined() ? ops::where(mask, input, one) : input;
    product = product.defined() ? ops::multiply(product, x) : x;
    all_masked = all_masked && mask.defined();
    if (all_masked) counts = counts.defined() ? ops::logical_or(counts, mask) : mask;
  }
  return all_masked ? ops::where(counts, product, none) : product;
}

Tensor average_of(Inputs inputs) {
  return sum_of(inputs, [&](const Tensor& sum) { return sum / static_cast<double>(inputs.size()); });
}

Tensor maximum_of(Inputs inputs) { return merge_unmasked(inputs, ops::maximum); }

Tensor minimum_of(Inputs inputs) { return merge_unmasked(inputs, ops::minimum); }

}  // namespace

Add::Add(const Config& config) : Layer(merge_node({"Add", sum_of}, config)) {}

Subtract::Subtract(const Config& config) : Layer(merge_node({"Subtract", difference_of, 2}, config)) {}

Multiply::Multiply(const Config& config) : Layer(merge_node({"Multiply", product_of}, config)) {}

Average::Average(const Config& config) : Layer(merge_node({"Average", average_of}, config)) {}

Maximum::Maximum(const Config& config) : Layer(merge_node({"Maximum", maximum_of}, config)) {}

Minimum::Minimum(const Config& config) : Layer(merge_node({"Minimum", minimum_of}, config)) {}

}  // namespace nyala
