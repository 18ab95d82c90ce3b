// Ops of each element.
#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

Tensor same(const Tensor& x) { return x; }

Tensors read_round(const OpArguments& a) {
  a.expect_default("decimals", 0);
  return {ops::round(a.tensor("x", 0))};
}
void write_round(const TracedOp&, OpConfig& out) { out.config["decimals"] = 0; }

Tensors read_clip(const OpArguments& a) {
  return {ops::clip(a.tensor("x", 0), a.real("x_min", 0), a.real("x_max", 0))};
}
void write_clip(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::ClipDescriptor>();
  out.config["x_min"] = d.minimum;
  out.config["x_max"] = d.maximum;
}

constexpr OpRow kFunctionRows[] = {
    {"Absolute", unary<ops::absolute>, {{&ops::kAbsolute}}, legacy_unary("abs")},
    {"Fabs", unary<ops::absolute>},
    {"Sign", unary<ops::sign>, {{&ops::kSign}}, legacy_unary("sign")},
    {"Square", unary<ops::square>, {{&ops::kSquare}}, legacy_unary("square")},
    {"Sqrt", unary<ops::sqrt>, {{&ops::kSqrt}}, legacy_unary("sqrt")},
    {"Reciprocal", unary<ops::reciprocal>, {{&ops::kReciprocal}}, legacy_unary("reciprocal")},
    {"Exp", unary<ops::exp>, {{&ops::kExp}}, legacy_unary("exp")},
    {"Expm1", unary<ops::expm1>, {{&ops::kExpm1}}, legacy_unary("expm1")},
    {"Log", unary<ops::log>, {{&ops::kLog}}, legacy_unary("log")},
    {"Log1p", unary<ops::log1p>, {{&ops::kLog1p}}, legacy_unary("log1p")},
    {"Log2", unary<ops::log2>, {{&ops::kLog2}}},
    {"Log10", unary<ops::log10>, {{&ops::kLog10}}},
    {"Sin", unary<ops::sin>, {{&ops::kSin}}, legacy_unary("sin")},
    {"Cos", unary<ops::cos>, {{&ops::kCos}}, legacy_unary("cos")},
    {"Tan", unary<ops::tan>, {{&ops::kTan}}, legacy_unary("tan")},
    {"Arcsin", unary<ops::arcsin>, {{&ops::kArcsin}}},
    {"Arccos", unary<ops::arccos>, {{&ops::kArccos}}},
    {"Arctan", unary<ops::arctan>, {{&ops::kArctan}}},
    {"Sinh", unary<ops::sinh>, {{&ops::kSinh}}},
    {"Cosh", unary<ops::cosh>, {{&ops::kCosh}}},
    {"Tanh", unary<ops::tanh>, {{&ops::kTanh}}, legacy_unary("tanh")},
    {"Arcsinh", unary<ops::arcsinh>, {{&ops::kArcsinh}}},
    {"Arccosh", unary<ops::arccosh>, {{&ops::kArccosh}}},
    {"Arctanh", unary<ops::arctanh>, {{&ops::kArctanh}}},
    {"Floor", unary<ops::floor>, {{&ops::kFloor}}, legacy_unary("floor")},
    {"Ceil", unary<ops::ceil>, {{&ops::kCeil}}, legacy_unary("ceil")},
    {"Trunc", unary<ops::trunc>, {{&ops::kTrunc}}},
    {"Round", read_round, {{&ops::kRound, write_round}}, legacy_unary("round")},
    {"Clip",
     read_clip,
     {{&ops::kClip, write_clip}},
     {{"clip_by_value"}, {}, {{"clip_value_min", "x_min"}, {"clip_value_max", "x_max"}}}},
    {"Isnan", unary<ops::isnan>, {{&ops::kIsnan}}},
    {"Isinf", unary<ops::isinf>, {{&ops::kIsinf}}},
    {"Isfinite", unary<ops::isfinite>, {{&ops::kIsfinite}}},
    {"Copy", unary<same>, {}, legacy_unary("identity")},
};

}  // namespace

OpFamily numpy_function_ops() { return {"keras.src.ops.numpy", kFunctionRows}; }

}  // namespace nyala
