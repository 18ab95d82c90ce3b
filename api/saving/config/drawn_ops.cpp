#include <nyala/api/saving/config/drawn_ops.h>

#include <cmath>
#include <functional>
#include <unordered_map>

#include <nyala/api/saving/config/op_arguments.h>
#include <nyala/api/saving/config/op_table.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

using Describe = std::function<void(const GraphNode&, OpConfig&)>;

/// An op and what is to be said of it besides its class and its tensors.
struct DrawnOp {
  std::string class_name;
  Describe describe = {};
};

[[noreturn]] void refuse(const GraphNode& node, const std::string& reason) {
  throw InvalidArgumentError("the op " + detail::in_quotes(node.name) + " between layers cannot be saved: " +
                             reason + "; put it into a layer of your own");
}

Json nested(const std::vector<double>& values, const Shape& shape, int axis, size_t& next) {
  if (axis == shape.rank()) return values[next++];
  Json list = Json::array();
  for (int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested(values, shape, axis + 1, next));
  return list;
}

/// A tensor that no layer made: a number, or all of its numbers.
Json constant_json(const Tensor& constant) {
  if (constant.num_elements() == 1 && constant.dtype() == DType::bool_)
    return constant.to_vector<bool>()[0] == true;
  if (constant.num_elements() == 1 && !is_floating(constant.dtype()))
    return ops::cast(constant, DType::int64).to_vector<int64_t>()[0];
  const std::vector<double> values = ops::cast(constant, DType::float64).to_vector<double>();
  size_t next = 0;
  if (values.size() == 1) return values[0];
  return {{"class_name", "__tensor__"},
          {"config",
           {{"value", nested(values, constant.shape(), 0, next)},
            {"dtype", std::string(name_of(constant.dtype()))}}}};
}

Json input_json(const GraphNode& node, size_t i) {
  return symbolic(node.inputs[i]) ? Json::object({{"input", i}}) : constant_json(node.inputs[i]);
}

Json axes_json(uint32_t axes) {
  Json list = Json::array();
  for (int axis = 0; axis < Shape::kMaxRank; ++axis)
    if (axes >> axis & 1u) list.push_back(axis);
  return list;
}

/// A shape with at most one unknown size, which becomes -1.
Json new_shape(const GraphNode& node, const Shape& shape) {
  Json list = Json::array();
  int unknown = 0;
  for (const int64_t size : shape) {
    list.push_back(size);
    unknown += size == None;
  }
  if (unknown > 1) refuse(node, "its shape " + shape.to_string() + " has several unknown sizes");
  return list;
}

void reduced(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::ReductionDescriptor>();
  op.config["axis"] = axes_json(d.axes);
  op.config["keepdims"] = d.keepdims;
}

void extremum(const GraphNode& node, OpConfig& op) {
  reduced(node, op);
  op.config["initial"] = nullptr;
}

void product(const GraphNode& node, OpConfig& op) {
  reduced(node, op);
  op.config["dtype"] = nullptr;
}

void place_of_extremum(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::ReductionDescriptor>();
  const Json axes = axes_json(d.axes);
  op.config["axis"] = axes.size() == 1 ? axes[0] : Json();
  op.config["keepdims"] = d.keepdims;
}

/// A number beside the first tensor: whole beside integers, which a fraction would make float32.
Json number_json(const GraphNode& node, double value) {
  if (is_floating(node.inputs[0].dtype()) || value != std::floor(value) || std::abs(value) >= 0x1p63)
    return value;
  return static_cast<int64_t>(value);
}

void affine(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::AffineDescriptor>();
  const Json x = op.args[0];
  if (d.offset == 0.0 && d.scale == -1.0) {
    op.class_name = "Negative";
  } else if (d.offset == 0.0) {
    op.class_name = "Multiply";
    op.args.push_back(number_json(node, d.scale));
  } else if (d.scale == -1.0) {
    op.class_name = "Subtract";
    op.args = Json::array({number_json(node, d.offset), x});
  } else if (d.scale == 1.0) {
    op.class_name = d.offset < 0.0 ? "Subtract" : "Add";
    op.args.push_back(number_json(node, std::abs(d.offset)));
  } else {
    refuse(node, "it scales and shifts at once; use Rescaling");
  }
}

void not_equal_scalar(const GraphNode& node, OpConfig& op) {
  op.args.push_back(number_json(node, node.descriptor.as<ops::NotEqualScalarDescriptor>().value));
}

void power_scalar(const GraphNode& node, OpConfig& op) {
  op.args.push_back(number_json(node, node.descriptor.as<ops::PowerDescriptor>().exponent));
}

void full_like(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::FullLikeDescriptor>();
  op.args.push_back(d.value.is_floating() ? Json(d.value.as<double>()) : Json(d.value.as<int64_t>()));
  op.config["dtype"] = std::string(name_of(d.dtype));
}

void relu(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::ReluDescriptor>();
  const bool capped = std::isfinite(d.max_value);
  if (d.threshold != 0.0 || (capped && (d.max_value != 6.0 || d.negative_slope != 0.0)))
    refuse(node, "Keras has no operation for this relu; use the ReLU layer");
  if (capped) op.class_name = "Relu6";
  if (d.negative_slope == 0.0) return;
  op.class_name = "LeakyRelu";
  op.config["negative_slope"] = d.negative_slope;
}

void matmul(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::MatmulDescriptor>();
  if (!d.transpose_a && !d.transpose_b) return;
  op.class_name = "Einsum";
  op.config["subscripts"] =
      std::string(d.transpose_a ? "...ki," : "...ik,") + (d.transpose_b ? "...jk" : "...kj") + "->...ij";
}

void softmax(const GraphNode& node, OpConfig& op) {
  op.config["axis"] = node.descriptor.as<ops::SoftmaxDescriptor>().axis;
}

void concatenate(const GraphNode& node, OpConfig& op) {
  op.config["axis"] = node.descriptor.as<ops::ConcatenateDescriptor>().axis;
  op.args = Json::array({op.args});
}

void reshape(const GraphNode& node, OpConfig& op) {
  op.config["newshape"] = new_shape(node, node.descriptor.as<ops::ReshapeDescriptor>().shape);
}

void flatten(const GraphNode& node, OpConfig& op) {
  op.config["newshape"] = new_shape(node, node.outputs[0].shape());
}

void expand_dims(const GraphNode& node, OpConfig& op) {
  op.config["axis"] = node.descriptor.as<ops::ExpandDimsDescriptor>().axis;
}

void squeeze(const GraphNode& node, OpConfig& op) {
  const Json axes = axes_json(node.descriptor.as<ops::SqueezeDescriptor>().axes);
  op.config["axis"] = axes.empty() ? Json() : axes.size() == 1 ? axes[0] : axes;
}

void transpose(const GraphNode& node, OpConfig& op) {
  Json axes = Json::array();
  for (int i = 0; i < node.inputs[0].rank(); ++i)
    axes.push_back(node.descriptor.as<ops::TransposeDescriptor>().axes[static_cast<size_t>(i)]);
  op.config["axes"] = axes;
}

void slice(const GraphNode& node, OpConfig& op) {
  op.args.push_back(key_of(node.descriptor.as<ops::SliceDescriptor>(), node.inputs[0].shape()));
}

void broadcast_to(const GraphNode& node, OpConfig& op) {
  op.config["shape"] = new_shape(node, node.descriptor.as<ops::BroadcastDescriptor>().shape);
}

void repeat(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::RepeatDescriptor>();
  op.config["repeats"] = d.count;
  op.config["axis"] = d.axis;
}

void tile(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::RepeatDescriptor>();
  Json repeats = Json::array();
  for (int axis = 0; axis < node.inputs[0].rank(); ++axis) repeats.push_back(axis == d.axis ? d.count : 1);
  op.config["repeats"] = repeats;
}

void pad(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::PadDescriptor>();
  Json widths = Json::array();
  for (size_t axis = 0; axis < static_cast<size_t>(node.inputs[0].rank()); ++axis)
    widths.push_back({d.before[axis], d.after[axis]});
  op.config["pad_width"] = widths;
  op.config["mode"] = d.mode == ops::PadMode::constant  ? "constant"
                      : d.mode == ops::PadMode::reflect ? "reflect"
                                                        : "symmetric";
  if (d.mode == ops::PadMode::constant) op.kwargs["constant_values"] = d.value;
}

void cast(const GraphNode& node, OpConfig& op) {
  op.config["dtype"] = std::string(name_of(node.descriptor.as<ops::CastDescriptor>().dtype));
}

void clip(const GraphNode& node, OpConfig& op) {
  const auto& d = node.descriptor.as<ops::ClipDescriptor>();
  op.config["x_min"] = d.minimum;
  op.config["x_max"] = d.maximum;
}

void take(const GraphNode& node, OpConfig& op) {
  op.config["axis"] = node.descriptor.as<ops::GatherDescriptor>().axis;
  op.args = Json::array({input_json(node, 0), input_json(node, 1)});
}

void einsum(const GraphNode& node, OpConfig& op) {
  op.config["subscripts"] = std::string(node.descriptor.as<ops::EinsumDescriptor>().equation.data());
}

void elu(const GraphNode& node, OpConfig& op) {
  op.config["alpha"] = node.descriptor.as<ops::EluDescriptor>().alpha;
}

void exact_gelu(const GraphNode&, OpConfig& op) { op.config["approximate"] = false; }
void approximate_gelu(const GraphNode&, OpConfig& op) { op.config["approximate"] = true; }

using Ops = std::unordered_map<const OpDef*, DrawnOp>;

void add_plain(Ops& all) {
  using namespace ops;
  const std::pair<const OpDef*, const char*> plain[] = {{&kAdd, "Add"},
                                                        {&kSubtract, "Subtract"},
                                                        {&kMultiply, "Multiply"},
                                                        {&kDivide, "TrueDivide"},
                                                        {&kMaximum, "Maximum"},
                                                        {&kMinimum, "Minimum"},
                                                        {&kPower, "Power"},
                                                        {&kMod, "Mod"},
                                                        {&kFloorDivide, "FloorDivide"},
                                                        {&kArctan2, "Arctan2"},
                                                        {&kWhere, "Where"},
                                                        {&kEqual, "Equal"},
                                                        {&kNotEqual, "NotEqual"},
                                                        {&kLess, "Less"},
                                                        {&kLessEqual, "LessEqual"},
                                                        {&kGreater, "Greater"},
                                                        {&kGreaterEqual, "GreaterEqual"},
                                                        {&kLogicalAnd, "LogicalAnd"},
                                                        {&kLogicalOr, "LogicalOr"},
                                                        {&kLogicalXor, "LogicalXor"},
                                                        {&kLogicalNot, "LogicalNot"},
                                                        {&kBitwiseAnd, "BitwiseAnd"},
                                                        {&kBitwiseOr, "BitwiseOr"},
                                                        {&kBitwiseXor, "BitwiseXor"},
                                                        {&kBitwiseNot, "BitwiseNot"},
                                                        {&kExp, "Exp"},
                                                        {&kExpm1, "Expm1"},
                                                        {&kLog, "Log"},
                                                        {&kLog1p, "Log1p"},
                                                        {&kLog2, "Log2"},
                                                        {&kLog10, "Log10"},
                                                        {&kSqrt, "Sqrt"},
                                                        {&kRsqrt, "Rsqrt"},
                                                        {&kReciprocal, "Reciprocal"},
                                                        {&kErf, "Erf"},
                                                        {&kSin, "Sin"},
                                                        {&kCos, "Cos"},
                                                        {&kTan, "Tan"},
                                                        {&kArcsin, "Arcsin"},
                                                        {&kArccos, "Arccos"},
                                                        {&kArctan, "Arctan"},
                                                        {&kSinh, "Sinh"},
                                                        {&kCosh, "Cosh"},
                                                        {&kArcsinh, "Arcsinh"},
                                                        {&kArccosh, "Arccosh"},
                                                        {&kArctanh, "Arctanh"},
                                                        {&kTanh, "Tanh"},
                                                        {&kAbsolute, "Absolute"},
                                                        {&kSign, "Sign"},
                                                        {&kSquare, "Square"},
                                                        {&kFloor, "Floor"},
                                                        {&kCeil, "Ceil"},
                                                        {&kTrunc, "Trunc"},
                                                        {&kRound, "Round"},
                                                        {&kIsnan, "Isnan"},
                                                        {&kIsinf, "Isinf"},
                                                        {&kIsfinite, "Isfinite"},
                                                        {&kSigmoid, "Sigmoid"},
                                                        {&kSelu, "Selu"},
                                                        {&kSilu, "Silu"},
                                                        {&kSoftplus, "Softplus"},
                                                        {&kSoftsign, "Softsign"},
                                                        {&kHardSigmoid, "HardSigmoid"},
                                                        {&kHardSilu, "HardSilu"},
                                                        {&kLogSigmoid, "LogSigmoid"}};
  for (const auto& [op, name] : plain) all[op] = {name};
}

Ops make_ops() {
  using namespace ops;
  Ops all;
  add_plain(all);
  all[&kAffine] = {"Affine", affine};
  all[&kNotEqualScalar] = {"NotEqual", not_equal_scalar};
  all[&kFullLike] = {"FullLike", full_like};
  all[&kPowerScalar] = {"Power", power_scalar};
  all[&kRelu] = {"Relu", relu};
  all[&kElu] = {"Elu", elu};
  all[&kGelu] = {"Gelu", exact_gelu};
  all[&kGeluTanh] = {"Gelu", approximate_gelu};
  all[&kSoftmax] = {"Softmax", softmax};
  all[&kLogSoftmax] = {"LogSoftmax", softmax};
  all[&kSum] = {"Sum", reduced};
  all[&kMean] = {"Mean", reduced};
  all[&kAny] = {"Any", reduced};
  all[&kAll] = {"All", reduced};
  all[&kMax] = {"Max", extremum};
  all[&kMin] = {"Min", extremum};
  all[&kProd] = {"Prod", product};
  all[&kLogsumexp] = {"Logsumexp", reduced};
  all[&kArgmax] = {"Argmax", place_of_extremum};
  all[&kArgmin] = {"Argmin", place_of_extremum};
  all[&kMatmul] = {"Matmul", matmul};
  all[&kEinsum] = {"Einsum", einsum};
  all[&kReshape] = {"Reshape", reshape};
  all[&kFlatten] = {"Reshape", flatten};
  all[&kExpandDims] = {"ExpandDims", expand_dims};
  all[&kSqueeze] = {"Squeeze", squeeze};
  all[&kTranspose] = {"Transpose", transpose};
  all[&kConcatenate] = {"Concatenate", concatenate};
  all[&kSlice] = {"GetItem", slice};
  all[&kBroadcastTo] = {"BroadcastTo", broadcast_to};
  all[&kRepeat] = {"Repeat", repeat};
  all[&kTile] = {"Tile", tile};
  all[&kPad] = {"Pad", pad};
  all[&kCast] = {"Cast", cast};
  all[&kClip] = {"Clip", clip};
  all[&kTake] = {"Take", take};
  return all;
}

}  // namespace

OpConfig drawn_op_config(const GraphNode& node) {
  static const Ops& all = *new Ops(make_ops());
  const auto found = all.find(node.op);
  if (found == all.end()) refuse(node, "Keras has no operation for '" + std::string(node.op->name) + "'");
  OpConfig op{found->second.class_name};
  for (size_t i = 0; i < node.inputs.size(); ++i) op.args.push_back(input_json(node, i));
  if (found->second.describe) found->second.describe(node, op);
  op.module = op_table().at(op.class_name).module;
  return op;
}

}  // namespace nyala
