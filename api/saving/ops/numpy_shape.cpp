// Other shapes and orders of the same elements, and choices among them.
#include <algorithm>

#include <nyala/api/saving/ops/get_item.h>
#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

Tensors read_reshape(const OpArguments& a) {
  return {ops::reshape(a.tensor("x", 0), Shape(a.integers("newshape")))};
}
void write_reshape(const TracedOp& op, OpConfig& out) {
  out.config["newshape"] = new_shape_to_json(op, op.as<ops::ReshapeDescriptor>().shape);
}
void write_flattened(const TracedOp& op, OpConfig& out) {
  out.config["newshape"] = new_shape_to_json(op, op.outputs[0].shape());
}

Tensors read_transpose(const OpArguments& a) {
  return {ops::transpose(a.tensor("x", 0), a.small_integers("axes"))};
}
void write_transpose(const TracedOp& op, OpConfig& out) {
  Json axes = Json::array();
  for (int i = 0; i < op.inputs[0].rank(); ++i)
    axes.push_back(op.as<ops::TransposeDescriptor>().axes[static_cast<size_t>(i)]);
  out.config["axes"] = axes;
}

Tensors read_expand_dims(const OpArguments& a) {
  Tensor x = a.tensor("x", 0);
  std::vector<int> axes = a.small_integers("axis");
  if (axes.empty()) a.fail("axis", "an axis");
  const int rank = x.rank() + static_cast<int>(axes.size());
  for (int& axis : axes)
    if (axis < 0) axis += rank;
  std::sort(axes.begin(), axes.end());
  for (const int axis : axes) x = ops::expand_dims(x, axis);
  return {x};
}

Tensors read_squeeze(const OpArguments& a) {
  return {ops::squeeze(a.tensor("x", 0), a.small_integers("axis"))};
}
void write_squeeze(const TracedOp& op, OpConfig& out) {
  const Json axes = axes_to_json(op.as<ops::SqueezeDescriptor>().axes);
  out.config["axis"] = axes.empty() ? Json() : axes.size() == 1 ? axes[0] : axes;
}

Tensors read_ravel(const OpArguments& a) { return {ops::ravel(a.tensor("x", 0))}; }

Tensors read_swapaxes(const OpArguments& a) {
  return {ops::swapaxes(a.tensor("x", 0), a.small_integer("axis1", 0), a.small_integer("axis2", 0))};
}

Tensors read_moveaxis(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const std::vector<int> source = a.small_integers("source"),
                         destination = a.small_integers("destination");
  if (source.size() != destination.size()) a.fail("source", "as many axes as destinations");
  return {ops::moveaxis(x, source, destination)};
}

Tensors read_flip(const OpArguments& a) { return {ops::flip(a.tensor("x", 0), a.small_integers("axis"))}; }

Tensors read_concatenate(const OpArguments& a) {
  return {ops::concatenate(a.tensors("xs", 0), axis_argument(a, 0))};
}
void write_concatenate(const TracedOp& op, OpConfig& out) {
  write_axis<ops::ConcatenateDescriptor>(op, out);
  out.args = Json::array({out.args});
}

Tensors read_stack(const OpArguments& a) { return {ops::stack(a.tensors("x", 0), axis_argument(a, 0))}; }

Tensors read_split(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Json sections = a.setting("indices_or_sections");
  const int axis = axis_argument(a, 0);
  if (sections.is_number_integer()) return ops::split(x, a.small_integer("indices_or_sections", 1), axis);
  return ops::split(x, a.integers("indices_or_sections"), axis);
}

Tensors read_repeat(const OpArguments& a) {
  const std::vector<int> repeats = a.small_integers("repeats");
  if (repeats.size() != 1) a.fail("repeats", "one number (several are not built yet)");
  const Tensor x = a.tensor("x", 0);
  if (a.setting("axis").is_null()) return {ops::repeat(ops::ravel(x), repeats[0], 0)};
  return {ops::repeat(x, repeats[0], axis_argument(a, 0))};
}
void write_repeat(const TracedOp& op, OpConfig& out) {
  out.config["repeats"] = op.as<ops::RepeatDescriptor>().count;
  write_axis<ops::RepeatDescriptor>(op, out);
}

Tensors read_tile(const OpArguments& a) { return {ops::tile(a.tensor("x", 0), a.small_integers("repeats"))}; }
void write_tile(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::RepeatDescriptor>();
  Json repeats = Json::array();
  for (int axis = 0; axis < op.inputs[0].rank(); ++axis) repeats.push_back(axis == d.axis ? d.count : 1);
  out.config["repeats"] = repeats;
}

Tensors read_pad(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Json width = a.setting("pad_width");
  const bool pairs = width.is_array() && !width.empty() && width[0].is_array();
  std::vector<std::pair<int64_t, int64_t>> widths;
  for (const Json& item : pairs ? width : Json::array({width})) {
    const std::vector<int64_t> numbers = integers_of(item, a, "pad_width");
    if (numbers.empty() || numbers.size() > 2) a.fail("pad_width", "pairs of numbers");
    widths.emplace_back(numbers.front(), numbers.back());
  }
  if (widths.size() == 1) widths.resize(static_cast<size_t>(x.rank()), widths[0]);
  const double value = a.has("constant_values", 1) ? a.number("constant_values", 1).as<double>() : 0.0;
  return {ops::pad(x, widths, a.text("mode", "constant"), value)};
}
void write_pad(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::PadDescriptor>();
  Json widths = Json::array();
  for (size_t axis = 0; axis < static_cast<size_t>(op.inputs[0].rank()); ++axis)
    widths.push_back({d.before[axis], d.after[axis]});
  out.config["pad_width"] = widths;
  out.config["mode"] = d.mode == ops::PadMode::constant  ? "constant"
                       : d.mode == ops::PadMode::reflect ? "reflect"
                                                         : "symmetric";
  if (d.mode == ops::PadMode::constant) out.kwargs["constant_values"] = d.value;
}

Tensors read_broadcast_to(const OpArguments& a) {
  return {ops::broadcast_to(a.tensor("x", 0), Shape(a.integers("shape")))};
}
void write_broadcast_to(const TracedOp& op, OpConfig& out) {
  const Shape& shape = op.as<ops::BroadcastDescriptor>().shape;
  if (!shape.is_known()) op.fail("Keras takes no unknown size in its shape " + shape.to_string());
  out.config["shape"] = new_shape_to_json(op, shape);
}

Tensors read_take(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Tensor indices = a.operand("indices", 1, Tensor::abstract({}, DType::int32, x.device()));
  if (a.setting("axis").is_null()) return {ops::take(ops::ravel(x), indices, 0)};
  return {ops::take(x, indices, axis_argument(a, 0))};
}

Tensors read_take_along_axis(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0), indices = a.tensor("indices", 1);
  if (a.setting("axis").is_null()) return {ops::take_along_axis(ops::ravel(x), ops::ravel(indices), 0)};
  return {ops::take_along_axis(x, indices, axis_argument(a, 0))};
}

constexpr OpRow kShapeRows[] = {
    {"Reshape",
     read_reshape,
     {{&ops::kReshape, write_reshape}, {&ops::kFlatten, write_flattened}},
     {{"reshape"}, {}, {{"shape", "newshape"}}}},
    {"Transpose",
     read_transpose,
     {{&ops::kTranspose, write_transpose}},
     {{"transpose"}, {}, {{"perm", "axes"}}}},
    {"ExpandDims",
     read_expand_dims,
     {{&ops::kExpandDims, write_axis<ops::ExpandDimsDescriptor>}},
     {{"expand_dims"}, {}, {{"axis", "axis"}}}},
    {"Squeeze", read_squeeze, {{&ops::kSqueeze, write_squeeze}}, {{"squeeze"}, {}, {{"axis", "axis"}}}},
    {"Ravel", read_ravel},
    {"Swapaxes", read_swapaxes},
    {"Moveaxis", read_moveaxis},
    {"Flip", read_flip},
    {"Concatenate",
     read_concatenate,
     {{&ops::kConcatenate, write_concatenate}},
     {{"concat"}, {}, {{"axis", "axis"}}}},
    {"Stack", read_stack, {}, {{"stack"}, {}, {{"axis", "axis"}}}},
    {"Split", read_split},
    {"Repeat", read_repeat, {{&ops::kRepeat, write_repeat}}},
    {"Tile", read_tile, {{&ops::kTile, write_tile}}, {{"tile"}, {}, {{"multiples", "repeats"}}}},
    {"Pad", read_pad, {{&ops::kPad, write_pad}}},
    {"BroadcastTo", read_broadcast_to, {{&ops::kBroadcastTo, write_broadcast_to}}},
    {"GetItem", read_item, {{&ops::kSlice, write_item}}, {{"getitem"}, {"slice_spec"}, {}, upgrade_item}},
    {"Take", read_take, {{&ops::kTake, write_axis<ops::GatherDescriptor>}}},
    {"TakeAlongAxis", read_take_along_axis, {{&ops::kTakeAlongAxis, write_axis<ops::GatherDescriptor>}}},
};

}  // namespace

OpFamily numpy_shape_ops() { return {"keras.src.ops.numpy", kShapeRows}; }

}  // namespace nyala
