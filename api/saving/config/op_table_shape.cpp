#include <numeric>

#include <nyala/api/saving/config/op_table.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

Tensors reshape(const OpArguments& a) {
  return {ops::reshape(a.tensor("x", 0), Shape(a.integers("newshape")))};
}

Tensors transpose(const OpArguments& a) { return {ops::transpose(a.tensor("x", 0), a.axes("axes"))}; }

Tensors expand_dims(const OpArguments& a) {
  Tensor x = a.tensor("x", 0);
  std::vector<int> axes = a.axes("axis");
  if (axes.empty()) a.fail("axis", "an axis");
  const int rank = x.rank() + static_cast<int>(axes.size());
  for (int& axis : axes)
    if (axis < 0) axis += rank;
  std::sort(axes.begin(), axes.end());
  for (const int axis : axes) x = ops::expand_dims(x, axis);
  return {x};
}

Tensors squeeze(const OpArguments& a) { return {ops::squeeze(a.tensor("x", 0), a.axes("axis"))}; }

Tensors ravel(const OpArguments& a) { return {ops::ravel(a.tensor("x", 0))}; }

Tensors swapaxes(const OpArguments& a) {
  return {ops::swapaxes(a.tensor("x", 0), static_cast<int>(a.integer("axis1", 0)),
                        static_cast<int>(a.integer("axis2", 0)))};
}

Tensors moveaxis(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const std::vector<int> source = a.axes("source"), destination = a.axes("destination");
  if (source.size() != destination.size()) a.fail("source", "as many axes as destinations");
  return {ops::moveaxis(x, source, destination)};
}

Tensors flip(const OpArguments& a) { return {ops::flip(a.tensor("x", 0), a.axes("axis"))}; }

Tensors concatenate(const OpArguments& a) {
  return {ops::concatenate(a.tensors("xs", 0), static_cast<int>(a.integer("axis", 0)))};
}

Tensors stack(const OpArguments& a) {
  return {ops::stack(a.tensors("x", 0), static_cast<int>(a.integer("axis", 0)))};
}

Tensors split(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Json sections = a.setting("indices_or_sections");
  const int axis = static_cast<int>(a.integer("axis", 0));
  if (sections.is_number_integer()) return ops::split(x, sections.get<int>(), axis);
  return ops::split(x, a.integers("indices_or_sections"), axis);
}

Tensors unstack(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const int axis = x.shape().normalize_axis(static_cast<int>(a.integer("axis", 0)));
  Tensors parts = ops::split(x, static_cast<int>(a.integer("num", x.shape()[axis])), axis);
  for (Tensor& part : parts) part = ops::squeeze(part, {axis});
  return parts;
}

Tensors repeat(const OpArguments& a) {
  const std::vector<int64_t> repeats = a.integers("repeats");
  if (repeats.size() != 1) a.fail("repeats", "one number (several are not built yet)");
  const Tensor x = a.tensor("x", 0);
  if (a.setting("axis").is_null()) return {ops::repeat(ops::ravel(x), static_cast<int>(repeats[0]), 0)};
  return {ops::repeat(x, static_cast<int>(repeats[0]), static_cast<int>(a.integer("axis", 0)))};
}

Tensors tile(const OpArguments& a) { return {ops::tile(a.tensor("x", 0), a.axes("repeats"))}; }

Tensors pad(const OpArguments& a) {
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

Tensors broadcast_to(const OpArguments& a) {
  return {ops::broadcast_to(a.tensor("x", 0), Shape(a.integers("shape")))};
}

Tensors block(const OpArguments& a) {
  return {ops::slice(a.tensor("inputs", 0), integers_of(a.json("start_indices", 1), a, "start_indices"),
                     a.integers("shape"))};
}

Tensors item(const OpArguments& a) { return {get_item(a)}; }

Tensors take(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Tensor indices = a.operand("indices", 1, Tensor::abstract({}, DType::int32, x.device()));
  if (a.setting("axis").is_null()) return {ops::take(ops::ravel(x), indices, 0)};
  return {ops::take(x, indices, static_cast<int>(a.integer("axis", 0)))};
}

Tensors take_along_axis(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0), indices = a.tensor("indices", 1);
  if (a.setting("axis").is_null()) return {ops::take_along_axis(ops::ravel(x), ops::ravel(indices), 0)};
  return {ops::take_along_axis(x, indices, static_cast<int>(a.integer("axis", 0)))};
}

}  // namespace

void add_shape_ops(std::map<std::string, OpEntry>& t) {
  t["Reshape"] = {reshape};
  t["Transpose"] = {transpose};
  t["ExpandDims"] = {expand_dims};
  t["Squeeze"] = {squeeze};
  t["Ravel"] = {ravel};
  t["Swapaxes"] = {swapaxes};
  t["Moveaxis"] = {moveaxis};
  t["Flip"] = {flip};
  t["Concatenate"] = {concatenate};
  t["Stack"] = {stack};
  t["Split"] = {split};
  t["Unstack"] = {unstack, kCoreOps};
  t["Repeat"] = {repeat};
  t["Tile"] = {tile};
  t["Pad"] = {pad};
  t["BroadcastTo"] = {broadcast_to};
  t["Slice"] = {block, kCoreOps};
  t["GetItem"] = {item};
  t["Take"] = {take};
  t["TakeAlongAxis"] = {take_along_axis};
}

}  // namespace nyala
