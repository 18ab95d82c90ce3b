#include <algorithm>

#include <nyala/api/layers/add.h>
#include <nyala/api/layers/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/shape.h>

namespace nyala {

void AddConfig::fields(FieldVisitor&) {}

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

class AddNode final : public LayerNode {
 public:
  explicit AddNode(const AddConfig& config) : config_(config) {}
  std::string class_name() const override { return "Add"; }
  bool supports_masking() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t) const override { return {merged_mask(inputs)}; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  bool takes_many() const override { return true; }
  using LayerNode::build;
  void build(Builder&, const Shapes& inputs) override {
    Shape merged = raised(inputs.at(0), inputs);
    for (const Shape& input : inputs) {
      const Shape shape = raised(input, inputs);
      if (input.rank() > 0 && inputs[0].rank() > 0 && !matches(input.slice(0, 1), inputs[0].slice(0, 1)) &&
          !matches(inputs[0].slice(0, 1), input.slice(0, 1)))
        throw ShapeError("expected inputs of one batch size, received " + inputs[0].to_string() + " and " +
                         input.to_string());
      merged = broadcast(merged, shape, "Add");
    }
  }

  using LayerNode::call;
  Outputs call(Call&, Inputs inputs) const override {
    Shapes shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    Tensor sum = raised(inputs[0], shapes);
    for (const Tensor& input : inputs.subspan(1)) sum = ops::add(sum, raised(input, shapes));
    return {sum};
  }

 private:
  AddConfig config_;
};

}  // namespace

Add::Add(const Config& config)
    : Layer(finish_layer(std::make_shared<AddNode>(config), {config.name, config.trainable, config.dtype})) {}

}  // namespace nyala
