#include <nyala/api/saving/config/op_table.h>

#include <optional>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);

template <Reduction op>
Tensors reduction(const OpArguments& a) {
  a.expect_default("initial");
  a.expect_default("dtype");
  return {op(a.tensor("x", 0), a.axes("axis"), a.flag("keepdims"))};
}

template <Tensor (*op)(const Tensor&, std::optional<int>, bool)>
Tensors place_of_extremum(const OpArguments& a) {
  std::optional<int> axis;
  if (!a.setting("axis").is_null()) axis = static_cast<int>(a.integer("axis", 0));
  return {op(a.tensor("x", 0), axis, a.flag("keepdims"))};
}

Tensors matmul(const OpArguments& a) { return {ops::matmul(a.tensor("x1", 0), a.tensor("x2", 1))}; }

/// NumPy's dot: the last axis of x with the last but one of y.
Tensors dot(const OpArguments& a) {
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

Tensors einsum(const OpArguments& a) {
  Tensors operands;
  for (size_t i = 0; i < a.count(); ++i) operands.push_back(a.tensor("operands", i));
  return {ops::einsum(a.text("subscripts", ""), operands)};
}

Tensors cast(const OpArguments& a) {
  return {ops::cast(a.tensor("x", 0), parse_dtype(a.text("dtype", "float32")))};
}

Tensors softmax(const OpArguments& a) {
  return {ops::softmax(a.tensor("x", 0), static_cast<int>(a.integer("axis", -1)))};
}

Tensors log_softmax(const OpArguments& a) {
  return {ops::log_softmax(a.tensor("x", 0), static_cast<int>(a.integer("axis", -1)))};
}

/// A tensor of one value in the shape of x.
Tensor filled(const OpArguments& a, Number value) {
  const Tensor x = a.tensor("x", 0);
  return ops::full_like(x, value,
                        a.setting("dtype").is_null() ? x.dtype() : parse_dtype(a.text("dtype", "")));
}

Tensors zeros_like(const OpArguments& a) { return {filled(a, 0)}; }
Tensors ones_like(const OpArguments& a) { return {filled(a, 1)}; }
Tensors full_like(const OpArguments& a) { return {filled(a, a.number("fill_value", 1))}; }

Tensors stop_gradient(const OpArguments& a) { return {a.tensor("variable", 0).detached()}; }
Tensors same(const OpArguments& a) { return {a.tensor("x", 0)}; }

Tensors one_hot(const OpArguments& a) {
  a.expect_default("sparse", false);
  return {ops::one_hot(a.tensor("x", 0), a.integer("num_classes", 0), static_cast<int>(a.integer("axis", -1)),
                       parse_dtype(a.text("dtype", "float32")))};
}

Tensors top_k(const OpArguments& a) {
  const ops::TopK found = ops::top_k(a.tensor("x", 0), static_cast<int>(a.integer("k", 1)));
  return {found.values, found.indices};
}

Tensors moments(const OpArguments& a) {
  a.expect_default("synchronized", false);
  const Tensor x = a.tensor("x", 0);
  const std::vector<int> axes = a.axes("axes");
  return {ops::mean(x, axes, a.flag("keepdims")), ops::var(x, axes, a.flag("keepdims"))};
}

}  // namespace

void add_other_ops(std::map<std::string, OpEntry>& t) {
  t["Mean"] = {reduction<ops::mean>};
  t["Sum"] = {reduction<ops::sum>};
  t["Max"] = t["Amax"] = {reduction<ops::max>};
  t["Min"] = t["Amin"] = {reduction<ops::min>};
  t["Prod"] = {reduction<ops::prod>};
  t["Any"] = {reduction<ops::any>};
  t["All"] = {reduction<ops::all>};
  t["Var"] = {reduction<ops::var>};
  t["Std"] = {reduction<ops::std>};
  t["Logsumexp"] = {reduction<ops::logsumexp>, kMathOps};
  t["Argmax"] = {place_of_extremum<ops::argmax>};
  t["Argmin"] = {place_of_extremum<ops::argmin>};
  t["Matmul"] = {matmul};
  t["Dot"] = {dot};
  t["Einsum"] = {einsum};
  t["Cast"] = {cast, kCoreOps};
  t["StopGradient"] = {stop_gradient, kCoreOps};
  t["ConvertToTensor"] = {same, kCoreOps};
  t["ZerosLike"] = {zeros_like};
  t["OnesLike"] = {ones_like};
  t["FullLike"] = {full_like};
  t["Softmax"] = {softmax, kNnOps};
  t["LogSoftmax"] = {log_softmax, kNnOps};
  t["OneHot"] = {one_hot, kNnOps};
  t["Moments"] = {moments, kNnOps};
  t["TopK"] = {top_k, kMathOps};
}

const std::map<std::string, OpEntry>& op_table() {
  static const auto* const table = [] {
    auto* const made = new std::map<std::string, OpEntry>;
    add_elementwise_ops(*made);
    add_shape_ops(*made);
    add_other_ops(*made);
    return made;
  }();
  return *table;
}

}  // namespace nyala
