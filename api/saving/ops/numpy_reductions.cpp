// Reductions over axes, products, and tensors of one value.
#include <optional>

#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

void write_reduction(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::ReductionDescriptor>();
  out.config["axis"] = axes_to_json(d.axes);
  out.config["keepdims"] = d.keepdims;
}

namespace {

void write_extremum(const TracedOp& op, OpConfig& out) {
  write_reduction(op, out);
  out.config["initial"] = nullptr;
}

void write_prod(const TracedOp& op, OpConfig& out) {
  write_reduction(op, out);
  out.config["dtype"] = nullptr;
}

template <Tensor (*op)(const Tensor&, std::optional<int>, bool)>
Tensors place_of_extremum(const OpArguments& a) {
  std::optional<int> axis;
  if (!a.setting("axis").is_null()) axis = axis_argument(a, 0);
  return {op(a.tensor("x", 0), axis, a.flag("keepdims"))};
}
void write_place(const TracedOp& op, OpConfig& out) {
  write_reduction(op, out);
  const Json axes = out.config["axis"];
  out.config["axis"] = axes.size() == 1 ? axes[0] : Json();
}

/// The mean over an axis, or of all; weights are those of each element, or one for each place on the axis.
Tensors read_average(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const bool is_whole = a.setting("axis").is_null();
  const int axis = axis_argument(a, 0);
  const Axes axes = is_whole ? Axes() : Axes({axis});
  if (!a.has("weights", 1) || a.json("weights", 1).is_null()) return {ops::mean(x, axes)};
  Tensor weights = a.operand("weights", 1, x);
  const bool are_of_axis = !is_whole && weights.rank() == 1 && x.rank() > 1;
  if (weights.rank() != x.rank() && !are_of_axis)
    a.fail("weights", is_whole ? "the shape of x" : "the shape of x or one axis");
  const Tensor total = ops::sum(weights, are_of_axis ? Axes() : axes);
  const int behind = are_of_axis ? (axis < 0 ? -axis : x.rank() - axis) - 1 : 0;
  for (int i = 0; i < behind; ++i) weights = ops::expand_dims(weights, -1);
  return {ops::sum(x * weights, axes) / total};
}

/// As an einsum; of a, of b or of both.
const char* transposed_product(bool a, bool b) {
  return a && b ? "...ki,...jk->...ij" : a ? "...ki,...kj->...ij" : "...ik,...jk->...ij";
}

Tensors read_matmul(const OpArguments& a) { return {ops::matmul(a.tensor("x1", 0), a.tensor("x2", 1))}; }
bool is_transposed(const Descriptor& descriptor) {
  const auto& d = descriptor.as<ops::MatmulDescriptor>();
  return d.transpose_a || d.transpose_b;
}
bool is_matmul(const Descriptor& descriptor) { return !is_transposed(descriptor); }
void write_transposed(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::MatmulDescriptor>();
  out.config["subscripts"] = transposed_product(d.transpose_a, d.transpose_b);
}
/// A product of transposed factors is an einsum.
void upgrade_matmul(OpConfig& op) {
  const auto flag = [&](const char* key) {
    const bool set = op.config.contains(key) && op.config[key] == true;
    op.config.erase(key);
    return set;
  };
  const bool a = flag("transpose_a"), b = flag("transpose_b");
  if (!a && !b) return;
  op.class_name = "Einsum";
  op.config["subscripts"] = transposed_product(a, b);
}

/// NumPy's dot: the last axis of x with the last but one of y.
Tensors read_dot(const OpArguments& a) {
  const Tensor x = a.tensor("x1", 0), y = a.tensor("x2", 1);
  if (x.rank() == 0 || y.rank() == 0) return {x * y};
  if (y.rank() <= 2) return {ops::matmul(x, y)};
  std::string left, right;
  for (int i = 0; i < x.rank(); ++i) left += static_cast<char>('a' + i);
  for (int i = 0; i < y.rank(); ++i) right += static_cast<char>('n' + i);
  const std::string out =
      left.substr(0, left.size() - 1) + right.substr(0, right.size() - 2) + right.substr(right.size() - 1);
  right[right.size() - 2] = left.back();
  return {ops::einsum(left + "," + right + "->" + out, {x, y})};
}

Tensors read_einsum(const OpArguments& a) {
  Tensors operands;
  for (size_t i = 0; i < a.count(); ++i) operands.push_back(a.tensor("operands", i));
  return {ops::einsum(a.text("subscripts", ""), operands)};
}
void write_einsum(const TracedOp& op, OpConfig& out) {
  out.config["subscripts"] = std::string(op.as<ops::EinsumDescriptor>().equation.data());
}

/// A tensor of one value in the shape of x.
Tensors filled(const OpArguments& a, Number value) {
  const Tensor x = a.tensor("x", 0);
  return {ops::full_like(x, value, dtype_argument(a, x.dtype()))};
}
Tensors read_zeros_like(const OpArguments& a) { return filled(a, 0); }
Tensors read_ones_like(const OpArguments& a) { return filled(a, 1); }
Tensors read_full_like(const OpArguments& a) { return filled(a, a.number("fill_value", 1)); }
void write_full_like(const TracedOp& op, OpConfig& out) {
  const Number value = op.as<ops::FullLikeDescriptor>().value;
  out.args.push_back(value.is_floating() ? Json(value.as<double>()) : Json(value.as<int64_t>()));
  write_dtype<ops::FullLikeDescriptor>(op, out);
}

constexpr OpRow kReductionRows[] = {
    {"Mean", reduction<ops::mean>, {{&ops::kMean, write_reduction}}, legacy_reduction("reduce_mean")},
    {"Average", read_average},
    {"Sum", reduction<ops::sum>, {{&ops::kSum, write_reduction}}, legacy_reduction("reduce_sum")},
    {"Max", reduction<ops::max>, {{&ops::kMax, write_extremum}}, legacy_reduction("reduce_max")},
    {"Amax", reduction<ops::max>},
    {"Min", reduction<ops::min>, {{&ops::kMin, write_extremum}}, legacy_reduction("reduce_min")},
    {"Amin", reduction<ops::min>},
    {"Prod", reduction<ops::prod>, {{&ops::kProd, write_prod}}, legacy_reduction("reduce_prod")},
    {"Any", reduction<ops::any>, {{&ops::kAny, write_reduction}}, legacy_reduction("reduce_any")},
    {"All", reduction<ops::all>, {{&ops::kAll, write_reduction}}, legacy_reduction("reduce_all")},
    {"Var", reduction<ops::var>, {}, legacy_reduction("reduce_variance")},
    {"Std", reduction<ops::std>, {}, legacy_reduction("reduce_std")},
    {"Argmax", place_of_extremum<ops::argmax>, {{&ops::kArgmax, write_place}}},
    {"Argmin", place_of_extremum<ops::argmin>, {{&ops::kArgmin, write_place}}},
    {"Matmul",
     read_matmul,
     {{&ops::kMatmul, nullptr, is_matmul}},
     {{"matmul"}, {"b"}, {{"transpose_a", "transpose_a"}, {"transpose_b", "transpose_b"}}, upgrade_matmul}},
    {"Dot", read_dot},
    {"Einsum",
     read_einsum,
     {{&ops::kEinsum, write_einsum}, {&ops::kMatmul, write_transposed, is_transposed}}},
    {"ZerosLike", read_zeros_like, {}, legacy_unary("zeros_like")},
    {"OnesLike", read_ones_like, {}, legacy_unary("ones_like")},
    {"FullLike", read_full_like, {{&ops::kFullLike, write_full_like}}},
};

}  // namespace

OpFamily numpy_reduction_ops() { return {"keras.src.ops.numpy", kReductionRows}; }

}  // namespace nyala
