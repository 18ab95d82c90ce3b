#include <nyala/api/saving/config/op_table.h>

#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/binary_op.h>

namespace nyala {

namespace {

using Table = std::map<std::string, OpEntry>;
using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Operand&, const Operand&);

template <Unary op>
Tensors unary(const OpArguments& a) {
  return {op(a.tensor("x", 0))};
}

/// An argument of an op of two beside the tensor `like`.
Operand side(const OpArguments& a, const char* name, size_t position, const Tensor& like, Tensor& made) {
  if (a.is_number(name, position)) return ops::detail::operand_of(a.number(name, position));
  made = a.operand(name, position, like);
  return made;
}

/// Two tensors, or one and a number on either side.
template <Binary op>
Tensors binary(const OpArguments& a) {
  Tensor made;
  if (a.is_tensor("x1", 0)) {
    const Tensor left = a.tensor("x1", 0);
    return {op(left, side(a, "x2", 1, left, made))};
  }
  const Tensor right = a.tensor("x2", 1);
  return {op(side(a, "x1", 0, right, made), right)};
}

Tensor divide_no_nan(const Operand& x, const Operand& y) {
  const Tensor is_zero = ops::equal(y, 0);
  return ops::where(is_zero, 0, ops::divide(x, ops::where(is_zero, 1, y)));
}

Tensors clip(const OpArguments& a) {
  return {ops::clip(a.tensor("x", 0), a.real("x_min", 0), a.real("x_max", 0))};
}

Tensors rounded(const OpArguments& a) {
  a.expect_default("decimals", 0);
  return {ops::round(a.tensor("x", 0))};
}

Tensors gelu(const OpArguments& a) {
  const Json approximate = a.setting("approximate");
  return {ops::gelu(a.tensor("x", 0), approximate.is_null() || a.flag("approximate"))};
}

Tensors elu(const OpArguments& a) { return {ops::elu(a.tensor("x", 0), a.real("alpha", 1.0))}; }

Tensors leaky_relu(const OpArguments& a) {
  return {ops::leaky_relu(a.tensor("x", 0), a.real("negative_slope", 0.2))};
}

/// An activation with one parameter, named `name` and `otherwise` where a file leaves it out.
using WithParameter = Tensor (*)(const Tensor&, double);
Tensors with_parameter(const OpArguments& a, WithParameter op, const char* name, double otherwise) {
  return {op(a.tensor("x", 0), a.real(name, otherwise))};
}
Tensors celu(const OpArguments& a) { return with_parameter(a, ops::celu, "alpha", 1.0); }
Tensors squareplus(const OpArguments& a) { return with_parameter(a, ops::squareplus, "b", 4.0); }
Tensors soft_shrink(const OpArguments& a) { return with_parameter(a, ops::soft_shrink, "threshold", 0.5); }
Tensors hard_shrink(const OpArguments& a) { return with_parameter(a, ops::hard_shrink, "threshold", 0.5); }

Tensors threshold(const OpArguments& a) {
  return {ops::threshold(a.tensor("x", 0), a.real("threshold", 0.0), a.real("default_value", 0.0))};
}

Tensors glu(const OpArguments& a) {
  return {ops::glu(a.tensor("x", 0), static_cast<int>(a.integer("axis", -1)))};
}

Tensors sparsemax(const OpArguments& a) {
  return {ops::sparsemax(a.tensor("x", 0), static_cast<int>(a.integer("axis", -1)))};
}

Tensor plain_relu(const Tensor& x) { return ops::relu(x); }
Tensor negated(const Tensor& x) { return -x; }
Tensor same(const Tensor& x) { return x; }

Tensors where(const OpArguments& a) {
  const Tensor condition = a.tensor("condition", 0);
  const Tensor like = a.is_tensor("x1", 1)   ? a.tensor("x1", 1)
                      : a.is_tensor("x2", 2) ? a.tensor("x2", 2)
                                             : Tensor::zeros({}, DType::float32, condition.device());
  Tensor first, second;
  return {ops::where(condition, side(a, "x1", 1, like, first), side(a, "x2", 2, like, second))};
}

void add_arithmetic(Table& t) {
  t["Add"] = {binary<ops::add>};
  t["Subtract"] = {binary<ops::subtract>};
  t["Multiply"] = {binary<ops::multiply>};
  t["TrueDivide"] = t["Divide"] = {binary<ops::divide>};
  t["DivideNoNan"] = {binary<divide_no_nan>};
  t["FloorDivide"] = {binary<ops::floor_divide>};
  t["Mod"] = {binary<ops::mod>};
  t["Power"] = {binary<ops::power>};
  t["Maximum"] = {binary<ops::maximum>};
  t["Minimum"] = {binary<ops::minimum>};
  t["Arctan2"] = {binary<ops::arctan2>};
  t["Equal"] = {binary<ops::equal>};
  t["NotEqual"] = {binary<ops::not_equal>};
  t["Greater"] = {binary<ops::greater>};
  t["GreaterEqual"] = {binary<ops::greater_equal>};
  t["Less"] = {binary<ops::less>};
  t["LessEqual"] = {binary<ops::less_equal>};
  t["LogicalAnd"] = {binary<ops::logical_and>};
  t["LogicalOr"] = {binary<ops::logical_or>};
  t["LogicalXor"] = {binary<ops::logical_xor>};
  t["BitwiseAnd"] = {binary<ops::bitwise_and>};
  t["BitwiseOr"] = {binary<ops::bitwise_or>};
  t["BitwiseXor"] = {binary<ops::bitwise_xor>};
  t["BitwiseNot"] = {unary<ops::bitwise_not>};
  t["Where"] = {where};
  t["Clip"] = {clip};
}

void add_functions(Table& t) {
  t["LogicalNot"] = {unary<ops::logical_not>};
  t["Negative"] = {unary<negated>};
  t["Absolute"] = t["Fabs"] = {unary<ops::absolute>};
  t["Sign"] = {unary<ops::sign>};
  t["Square"] = {unary<ops::square>};
  t["Sqrt"] = {unary<ops::sqrt>};
  t["Reciprocal"] = {unary<ops::reciprocal>};
  t["Exp"] = {unary<ops::exp>};
  t["Expm1"] = {unary<ops::expm1>};
  t["Log"] = {unary<ops::log>};
  t["Log1p"] = {unary<ops::log1p>};
  t["Log2"] = {unary<ops::log2>};
  t["Log10"] = {unary<ops::log10>};
  t["Sin"] = {unary<ops::sin>};
  t["Cos"] = {unary<ops::cos>};
  t["Tan"] = {unary<ops::tan>};
  t["Arcsin"] = {unary<ops::arcsin>};
  t["Arccos"] = {unary<ops::arccos>};
  t["Arctan"] = {unary<ops::arctan>};
  t["Sinh"] = {unary<ops::sinh>};
  t["Cosh"] = {unary<ops::cosh>};
  t["Tanh"] = {unary<ops::tanh>};
  t["Arcsinh"] = {unary<ops::arcsinh>};
  t["Arccosh"] = {unary<ops::arccosh>};
  t["Arctanh"] = {unary<ops::arctanh>};
  t["Floor"] = {unary<ops::floor>};
  t["Ceil"] = {unary<ops::ceil>};
  t["Trunc"] = {unary<ops::trunc>};
  t["Round"] = {rounded};
  t["Isnan"] = {unary<ops::isnan>};
  t["Isinf"] = {unary<ops::isinf>};
  t["Isfinite"] = {unary<ops::isfinite>};
  t["Copy"] = {unary<same>};
  t["Rsqrt"] = {unary<ops::rsqrt>, kMathOps};
  t["Erf"] = {unary<ops::erf>, kMathOps};
}

void add_activations(Table& t) {
  t["Relu"] = {unary<plain_relu>, kNnOps};
  t["Relu6"] = {unary<ops::relu6>, kNnOps};
  t["Sigmoid"] = {unary<ops::sigmoid>, kNnOps};
  t["Softplus"] = {unary<ops::softplus>, kNnOps};
  t["Softsign"] = {unary<ops::softsign>, kNnOps};
  t["Silu"] = {unary<ops::silu>, kNnOps};
  t["LogSigmoid"] = {unary<ops::log_sigmoid>, kNnOps};
  t["HardSigmoid"] = {unary<ops::hard_sigmoid>, kNnOps};
  t["HardSilu"] = {unary<ops::hard_silu>, kNnOps};
  t["Selu"] = {unary<ops::selu>, kNnOps};
  t["LeakyRelu"] = {leaky_relu, kNnOps};
  t["Elu"] = {elu, kNnOps};
  t["Gelu"] = {gelu, kNnOps};
  t["Celu"] = {celu, kNnOps};
  t["Glu"] = {glu, kNnOps};
  t["HardTanh"] = {unary<ops::hard_tanh>, kNnOps};
  t["TanhShrink"] = {unary<ops::tanh_shrink>, kNnOps};
  t["SoftShrink"] = {soft_shrink, kNnOps};
  t["HardShrink"] = {hard_shrink, kNnOps};
  t["Threshold"] = {threshold, kNnOps};
  t["Squareplus"] = {squareplus, kNnOps};
  t["SparsePlus"] = {unary<ops::sparse_plus>, kNnOps};
  t["SparseSigmoid"] = {unary<ops::sparse_sigmoid>, kNnOps};
  t["Sparsemax"] = {sparsemax, kNnOps};
}

}  // namespace

void add_elementwise_ops(Table& table) {
  add_arithmetic(table);
  add_functions(table);
  add_activations(table);
}

}  // namespace nyala
