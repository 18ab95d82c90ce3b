#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/dot.h>

#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void DotConfig::fields(FieldVisitor& v) {
  // Keras reads a list of two only, or a number.
  const Axes both = axes.size() == 1 ? Axes{axes.list()[0], axes.list()[0]} : axes;
  Axes shown = both;
  visit_axes(v, "axes", shown);
  if (shown.list() != both.list()) axes = shown;
  v.field("normalize", normalize);
}

namespace {

/// Where the two inputs meet.
struct Meeting {
  int first, second;
};

Tensor normalized(const Tensor& x, int axis) {
  const Tensor smallest = Tensor::full({}, 1e-14, x.dtype(), x.device());  // the square of 1e-7
  return x / ops::sqrt(ops::maximum(ops::sum(x * x, {axis}, true), smallest));
}

/// (batch, everything but `axis`, axis).
Tensor as_rows(const Tensor& x, int axis) {
  const Tensor last = axis == x.rank() - 1 ? x : ops::moveaxis(x, axis, -1);
  const Shape& shape = last.shape();
  const int64_t others = shape.slice(1, shape.rank() - 1).num_elements();
  return ops::reshape(last, {shape[0], others, shape.back()});
}

class DotNode final : public LayerNode {
 public:
  explicit DotNode(const DotConfig& config) : config_(config) {
    const std::vector<int>& axes = config.axes.list();
    if (axes.empty() || axes.size() > 2)
      throw InvalidArgumentError("Dot: expected one axis or two, received " + std::to_string(axes.size()));
    for (const int axis : axes)
      if (axis == 0)
        throw InvalidArgumentError("Dot: expected axes other than that of the batch, received 0");
  }
  std::string class_name() const override { return "Dot"; }
  bool supports_masking() const override { return true; }
  Tensors compute_mask(Inputs, size_t) const override { return {Tensor()}; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  bool takes_many() const override { return true; }
  void build(Builder&, const Shapes& inputs) override {
    if (inputs.size() != 2)
      throw InvalidArgumentError("expected two inputs, received " + std::to_string(inputs.size()));
    const Meeting at = meeting(inputs[0], inputs[1]);
    const int64_t a = inputs[0][at.first], b = inputs[1][at.second];
    if (a != b && a != None && b != None)
      throw ShapeError("expected axes of one size, received " + inputs[0].to_string() + " along " +
                       std::to_string(at.first) + " and " + inputs[1].to_string() + " along " +
                       std::to_string(at.second));
  }

  Outputs call(Call&, Inputs inputs) const override {
    const Tensor &a = inputs[0], &b = inputs[1];
    const Meeting at = meeting(a.shape(), b.shape());
    const Shape result = result_shape(a.shape().without(at.first), b.shape().without(at.second));
    if (a.is_abstract()) return {Tensor::abstract(result, a.dtype(), a.device())};
    const Tensor rows = as_rows(config_.normalize ? normalized(a, at.first) : a, at.first);
    const Tensor columns = as_rows(config_.normalize ? normalized(b, at.second) : b, at.second);
    return {ops::reshape(ops::matmul(rows, columns, {.transpose_b = true}), result)};
  }

 private:
  Meeting meeting(const Shape& a, const Shape& b) const {
    const std::vector<int>& axes = config_.axes.list();
    return {axis_of(a, axes.front()), axis_of(b, axes.back())};
  }

  static int axis_of(const Shape& shape, int axis) {
    if (shape.rank() < 2 || axis < -shape.rank() || axis >= shape.rank() || shape.normalize_axis(axis) == 0)
      throw ShapeError("expected an axis behind the batch of an input of rank 2 or more, received axis " +
                       std::to_string(axis) + " of " + shape.to_string());
    return shape.normalize_axis(axis);
  }

  static Shape result_shape(Shape a, const Shape& b) {
    for (int axis = 1; axis < b.rank(); ++axis) a.append(b[axis]);
    if (a.rank() == 1) a.append(1);
    return a;
  }

  DotConfig config_;
};

}  // namespace

Dot::Dot(const Config& config) : Layer(node_from<DotNode>(config)) {}

Dot::Dot(int axis, Config config) : Dot(axis, axis, std::move(config)) {}

Dot::Dot(int first_axis, int second_axis, Config config)
    : Dot(with(std::move(config), &Config::axes, Axes{first_axis, second_axis})) {}

}  // namespace nyala
