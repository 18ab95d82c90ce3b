// Ops of two tensors, comparisons and logic.
#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/binary_op.h>

namespace nyala {

namespace {

/// An argument of an op of two beside the tensor `like`.
Operand side(const OpArguments& a, const char* name, size_t position, const Tensor& like, Tensor& made) {
  if (a.is_number(name, position)) return ops::detail::operand_of(a.number(name, position));
  made = a.operand(name, position, like);
  return made;
}

/// Two tensors, or one and a number on either side.
template <Tensor (*op)(const Operand&, const Operand&)>
Tensors binary(const OpArguments& a) {
  Tensor made;
  if (a.is_tensor("x1", 0)) {
    const Tensor left = a.tensor("x1", 0);
    return {op(left, side(a, "x2", 1, left, made))};
  }
  const Tensor right = a.tensor("x2", 1);
  return {op(side(a, "x1", 0, right, made), right)};
}

// scale * x + offset is an operation with one number, unless it does both at once.

const ops::AffineDescriptor& affine(const Descriptor& descriptor) {
  return descriptor.as<ops::AffineDescriptor>();
}

bool is_product(const Descriptor& d) { return affine(d).offset == 0.0 && affine(d).scale != -1.0; }
void write_product(const TracedOp& op, OpConfig& out) {
  out.args.push_back(number_to_json(op, affine(op.descriptor).scale));
}

bool is_sum(const Descriptor& d) {
  return affine(d).scale == 1.0 && affine(d).offset != 0.0 && !(affine(d).offset < 0.0);
}
void write_sum(const TracedOp& op, OpConfig& out) {
  out.args.push_back(number_to_json(op, affine(op.descriptor).offset));
}

bool is_difference(const Descriptor& d) {
  return affine(d).offset != 0.0 &&
         (affine(d).scale == -1.0 || (affine(d).scale == 1.0 && affine(d).offset < 0.0));
}
void write_difference(const TracedOp& op, OpConfig& out) {
  const auto& d = affine(op.descriptor);
  if (d.scale == 1.0)
    out.args.push_back(number_to_json(op, -d.offset));
  else
    out.args = Json::array({number_to_json(op, d.offset), out.args[0]});
}

bool is_negative(const Descriptor& d) { return affine(d).offset == 0.0 && affine(d).scale == -1.0; }
Tensor negated(const Tensor& x) { return -x; }

Tensor divide_no_nan(const Operand& x, const Operand& y) {
  const Tensor is_zero = ops::equal(y, 0);
  return ops::where(is_zero, 0, ops::divide(x, ops::where(is_zero, 1, y)));
}

void write_exponent(const TracedOp& op, OpConfig& out) {
  out.args.push_back(number_to_json(op, op.as<ops::PowerDescriptor>().exponent));
}

void write_other_number(const TracedOp& op, OpConfig& out) {
  out.args.push_back(number_to_json(op, op.as<ops::NotEqualScalarDescriptor>().value));
}

Tensors read_isclose(const OpArguments& a) {
  ops::ClosenessDescriptor d;
  if (a.has("rtol", 2)) d.rtol = a.number("rtol", 2).as<double>();
  if (a.has("atol", 3)) d.atol = a.number("atol", 3).as<double>();
  d.equal_nan = a.flag("equal_nan");
  Tensor made;
  if (!a.is_tensor("x1", 0)) {
    const Tensor right = a.tensor("x2", 1);
    return {ops::isclose(side(a, "x1", 0, right, made), right, d)};
  }
  const Tensor left = a.tensor("x1", 0);
  return {ops::isclose(left, side(a, "x2", 1, left, made), d)};
}
void write_isclose(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::ClosenessDescriptor>();
  out.args.push_back(d.rtol);
  out.args.push_back(d.atol);
  out.config["equal_nan"] = d.equal_nan;
}

Tensors read_where(const OpArguments& a) {
  const Tensor condition = a.tensor("condition", 0);
  const Tensor like = a.is_tensor("x1", 1)   ? a.tensor("x1", 1)
                      : a.is_tensor("x2", 2) ? a.tensor("x2", 2)
                                             : Tensor::zeros({}, DType::float32, condition.device());
  Tensor first, second;
  return {ops::where(condition, side(a, "x1", 1, like, first), side(a, "x2", 2, like, second))};
}

constexpr OpRow kArithmeticRows[] = {
    {"Add", binary<ops::add>, {{&ops::kAdd}, {&ops::kAffine, write_sum, is_sum}}, legacy_binary("add")},
    {"Subtract",
     binary<ops::subtract>,
     {{&ops::kSubtract}, {&ops::kAffine, write_difference, is_difference}},
     legacy_binary("subtract", "sub")},
    {"Multiply",
     binary<ops::multiply>,
     {{&ops::kMultiply}, {&ops::kAffine, write_product, is_product}},
     legacy_binary("multiply", "mul")},
    {"Negative", unary<negated>, {{&ops::kAffine, nullptr, is_negative}}, legacy_unary("negative", "neg")},
    {"TrueDivide", binary<ops::divide>, {{&ops::kDivide}}, legacy_binary("truediv", "divide")},
    {"Divide", binary<ops::divide>},
    {"DivideNoNan", binary<divide_no_nan>, {}, legacy_binary("divide_no_nan")},
    {"FloorDivide", binary<ops::floor_divide>, {{&ops::kFloorDivide}}, legacy_binary("floordiv")},
    {"Mod", binary<ops::mod>, {{&ops::kMod}}, legacy_binary("mod", "floormod")},
    {"Power",
     binary<ops::power>,
     {{&ops::kPower}, {&ops::kPowerScalar, write_exponent}},
     legacy_binary("pow")},
    {"Maximum", binary<ops::maximum>, {{&ops::kMaximum}}, legacy_binary("maximum")},
    {"Minimum", binary<ops::minimum>, {{&ops::kMinimum}}, legacy_binary("minimum")},
    {"Arctan2", binary<ops::arctan2>, {{&ops::kArctan2}}},
    {"Equal", binary<ops::equal>, {{&ops::kEqual}}, legacy_binary("equal", "eq")},
    {"NotEqual",
     binary<ops::not_equal>,
     {{&ops::kNotEqual}, {&ops::kNotEqualScalar, write_other_number}},
     legacy_binary("not_equal", "ne")},
    {"Greater", binary<ops::greater>, {{&ops::kGreater}}, legacy_binary("greater")},
    {"GreaterEqual", binary<ops::greater_equal>, {{&ops::kGreaterEqual}}, legacy_binary("greater_equal")},
    {"Less", binary<ops::less>, {{&ops::kLess}}, legacy_binary("less")},
    {"LessEqual", binary<ops::less_equal>, {{&ops::kLessEqual}}, legacy_binary("less_equal")},
    {"Isclose", read_isclose, {{&ops::kIsclose, write_isclose}}},
    {"LogicalAnd", binary<ops::logical_and>, {{&ops::kLogicalAnd}}, legacy_binary("logical_and")},
    {"LogicalOr", binary<ops::logical_or>, {{&ops::kLogicalOr}}, legacy_binary("logical_or")},
    {"LogicalXor", binary<ops::logical_xor>, {{&ops::kLogicalXor}}},
    {"LogicalNot", unary<ops::logical_not>, {{&ops::kLogicalNot}}, legacy_unary("logical_not")},
    {"BitwiseAnd", binary<ops::bitwise_and>, {{&ops::kBitwiseAnd}}},
    {"BitwiseOr", binary<ops::bitwise_or>, {{&ops::kBitwiseOr}}},
    {"BitwiseXor", binary<ops::bitwise_xor>, {{&ops::kBitwiseXor}}},
    {"BitwiseNot", unary<ops::bitwise_not>, {{&ops::kBitwiseNot}}},
    {"Where", read_where, {{&ops::kWhere}}, {{"where", "where_v2"}, {"x", "y"}}},
};

}  // namespace

OpFamily numpy_arithmetic_ops() { return {"keras.src.ops.numpy", kArithmeticRows}; }

}  // namespace nyala
