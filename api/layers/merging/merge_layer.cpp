#include <nyala/api/layers/merging/merge_layer.h>

#include <algorithm>

#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

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

}  // namespace

std::shared_ptr<LayerNode> detail::make_merge_node(const MergeKind& kind, const LayerOptions& options) {
  return finish_layer(std::make_shared<MergeNode>(kind), options);
}

Tensor detail::element_mask(const Tensor& x) {
  Tensor mask = mask_of(x);
  while (mask.defined() && mask.rank() < x.rank()) mask = ops::expand_dims(mask, -1);
  return mask;
}

Tensor detail::merge_unmasked(Inputs inputs, Tensor (*merge)(const Operand&, const Operand&)) {
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

}  // namespace nyala
