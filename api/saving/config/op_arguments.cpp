#include <nyala/api/saving/config/op_arguments.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/shape.h>

namespace nyala {

namespace {

void read_numbers(const Json& json, int depth, Shape& shape, std::vector<double>& out,
                  const std::string& where) {
  if (!json.is_array()) {
    if (!json.is_number() && !json.is_boolean())
      throw FileFormatError(where + ": expected a tensor of numbers");
    if (depth != shape.rank()) throw FileFormatError(where + ": a tensor whose rows differ in length");
    out.push_back(json.is_boolean() ? (json.get<bool>() ? 1.0 : 0.0) : json.get<double>());
    return;
  }
  const int64_t size = static_cast<int64_t>(json.size());
  if (depth == shape.rank() && out.empty() && depth < Shape::kMaxRank) shape.append(size);
  if (depth >= shape.rank() || shape[depth] != size)
    throw FileFormatError(where + ": a tensor whose rows differ in length");
  for (const Json& item : json) read_numbers(item, depth + 1, shape, out, where);
}

}  // namespace

Tensor tensor_of_numbers(const Json& json, const std::string& where) {
  Shape shape;
  std::vector<double> numbers;
  read_numbers(json, 0, shape, numbers, where);
  if (shape.num_elements() != static_cast<int64_t>(numbers.size()))
    throw FileFormatError(where + ": a tensor whose rows differ in length");
  return Tensor::from(numbers, shape, Device{});
}

const Json* OpArguments::find(const char* name, size_t position) const {
  const auto found = b_.op.kwargs.find(name);
  const Json* value = found != b_.op.kwargs.end()    ? &*found
                      : position < b_.op.args.size() ? &b_.op.args[position]
                                                     : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

const Json& OpArguments::json(const char* name, size_t position) const {
  const Json* value = find(name, position);
  if (!value) fail(name, "a value");
  return *value;
}

bool OpArguments::holds_tensor(const Json& json) const {
  return json.is_object() && json.size() == 1 && (json.contains("input") || json.contains("constant"));
}

Tensor OpArguments::tensor_of(const Json& json, const std::string& name) const {
  if (!holds_tensor(json)) fail(name, "a tensor");
  const bool is_input = json.contains("input");
  const Json& index = json.front();
  const Tensors& from = is_input ? b_.inputs : b_.constants;
  if (!index.is_number_unsigned() || index.get<size_t>() >= from.size()) fail(name, "a tensor of the graph");
  if (is_input) return from[index.get<size_t>()];
  const Tensor& constant = from[index.get<size_t>()];
  const Device device = b_.inputs.empty() ? constant.device() : b_.inputs[0].device();
  return constant.device() == device ? constant : constant.to(device);
}

bool OpArguments::is_tensor(const char* name, size_t position) const {
  const Json* value = find(name, position);
  return value && holds_tensor(*value);
}

Tensor OpArguments::tensor(const char* name, size_t position) const {
  return tensor_of(json(name, position), name);
}

Tensors OpArguments::tensors(const char* name, size_t position) const {
  const Json& list = json(name, position);
  if (!list.is_array()) fail(name, "a list of tensors");
  Tensors out;
  for (const Json& item : list) out.push_back(tensor_of(item, name));
  return out;
}

Number OpArguments::number(const char* name, size_t position) const {
  const Json& value = json(name, position);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_number()) fail(name, "a number");
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  return value.is_number_integer() ? Number(value.get<int64_t>()) : Number(value.get<double>());
}

bool OpArguments::is_number(const char* name, size_t position) const {
  const Json* value = find(name, position);
  return value && (value->is_number() || value->is_boolean());
}

namespace {

bool has_float(const Json& json) {
  if (json.is_array())
    for (const Json& item : json)
      if (has_float(item)) return true;
  return json.is_number_float();
}

}  // namespace

Tensor OpArguments::operand(const char* name, size_t position, const Tensor& like) const {
  if (is_tensor(name, position)) return tensor(name, position);
  const Json& written = json(name, position);
  if (written.is_array()) {
    const DType dtype = is_floating(like.dtype()) ? like.dtype()
                        : has_float(written)      ? DType::float32
                                                  : DType::int32;
    return ops::cast(tensor_of_numbers(written, b_.where + ", " + detail::in_quotes(name)), dtype)
        .to(like.device());
  }
  const Number value = number(name, position);
  DType dtype = like.dtype();
  if (written.is_number_float() && !is_floating(dtype)) dtype = DType::float32;
  if (written.is_number_integer() && dtype == DType::bool_) dtype = DType::int32;
  if (written.is_boolean()) dtype = DType::bool_;
  return Tensor::full({}, value, dtype, like.device());
}

Json OpArguments::setting(const char* name) const {
  if (b_.op.config.contains(name)) return b_.op.config[name];
  return b_.op.kwargs.contains(name) ? b_.op.kwargs[name] : Json();
}

bool OpArguments::flag(const char* name) const {
  const Json value = setting(name);
  if (!value.is_null() && !value.is_boolean()) fail(name, "true or false");
  return value.is_boolean() && value.get<bool>();
}

double OpArguments::real(const char* name, double otherwise) const {
  const Json value = setting(name);
  if (value.is_null()) return otherwise;
  if (!value.is_number()) fail(name, "a number");
  return value.get<double>();
}

int64_t OpArguments::integer(const char* name, int64_t otherwise) const {
  const Json value = setting(name);
  if (value.is_null()) return otherwise;
  if (!value.is_number_integer()) fail(name, "an integer");
  return value.get<int64_t>();
}

std::string OpArguments::text(const char* name, const std::string& otherwise) const {
  const Json value = setting(name);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) fail(name, "text");
  return value.get<std::string>();
}

std::vector<int64_t> integers_of(const Json& json, const OpArguments& a, const char* name) {
  std::vector<int64_t> out;
  if (json.is_null()) return out;
  for (const Json& item : json.is_array() ? json : Json::array({json})) {
    if (!item.is_number_integer() && !item.is_null()) a.fail(name, "integers");
    out.push_back(item.is_null() ? None : item.get<int64_t>());
  }
  return out;
}

std::vector<int64_t> OpArguments::integers(const char* name) const {
  return integers_of(setting(name), *this, name);
}

std::vector<int> OpArguments::axes(const char* name) const {
  const std::vector<int64_t> wide = integers(name);
  return {wide.begin(), wide.end()};
}

void OpArguments::expect_default(const char* name, const Json& value) const {
  const Json found = setting(name);
  if (!found.is_null() && found != value)
    fail(name, value.is_null() ? "nothing (other values are not built yet)" : value.dump());
}

void OpArguments::fail(const std::string& name, const std::string& expected) const {
  throw FileFormatError(b_.where + ", " + detail::in_quotes(name) + ": expected " + expected);
}

namespace {

bool is_special(const Json& json, const char* class_name) {
  return json.is_object() && json.contains("class_name") && json["class_name"] == class_name;
}

/// One bound of a slice.
int64_t bound_of(const Json& slice, const char* name, const OpArguments& a) {
  const Json config = slice.contains("config") ? slice["config"] : Json::object();
  if (!config.is_object() || !config.contains(name) || config[name].is_null()) return ops::kToEnd;
  if (!config[name].is_number_integer()) a.fail("key", "slices of whole numbers");
  return config[name].get<int64_t>();
}

/// What a key does to the axes of x.
struct Selection {
  std::vector<ops::AxisRange> ranges;
  std::vector<int> dropped;  // axes that a number takes one place of
  std::vector<int> added;    // places of new axes in the result
};

Selection selection_of(const std::vector<Json>& key, const Shape& x, const OpArguments& a) {
  int used = 0;
  for (const Json& item : key) used += !item.is_null() && !is_special(item, "__ellipsis__");
  if (used > x.rank()) a.fail("key", "at most " + std::to_string(x.rank()) + " places of " + x.to_string());
  Selection s;
  int result = 0;
  for (const Json& item : key) {
    const int axis = static_cast<int>(s.ranges.size());
    if (item.is_null()) {
      s.added.push_back(result++);
    } else if (is_special(item, "__ellipsis__")) {
      for (int i = used; i < x.rank(); ++i, ++result) s.ranges.emplace_back();
      used = x.rank();  // a second one stands for nothing
    } else if (is_special(item, "__slice__")) {
      const int64_t step = bound_of(item, "step", a);
      s.ranges.push_back({bound_of(item, "start", a), bound_of(item, "stop", a),
                          step == ops::kToEnd ? 1 : static_cast<int32_t>(step)});
      ++result;
    } else if (item.is_number_integer()) {
      const int64_t i = item.get<int64_t>(), size = x[axis];
      if (size != None && (i >= size || i < -size))
        a.fail("key", "places of " + x.to_string() + ", received " + std::to_string(i));
      s.ranges.push_back({i, i == -1 ? ops::kToEnd : i + 1, 1});
      s.dropped.push_back(axis);
    } else {
      a.fail("key", "numbers, slices, None and '...'");
    }
  }
  return s;
}

}  // namespace

Tensor get_item(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Json* given = nullptr;
  static const Json& nothing = *new Json;
  given = a.has("key", 1) ? &a.json("key", 1) : &nothing;
  const std::vector<Json> key =
      given->is_array() ? std::vector<Json>(given->begin(), given->end()) : std::vector<Json>{*given};
  const Selection s = selection_of(key, x.shape(), a);
  Tensor y = ops::strided_slice(x, s.ranges);
  if (!s.dropped.empty()) y = ops::squeeze(y, s.dropped);
  for (const int axis : s.added) y = ops::expand_dims(y, axis);
  return y;
}

Json key_of(const ops::SliceDescriptor& slice, const Shape& x) {
  const auto bound = [](int64_t value) { return value == ops::kToEnd ? Json() : Json(value); };
  Json key = Json::array();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const ops::AxisRange range = slice.range(axis);
    const bool strict = range.step == 0;
    key.push_back({{"class_name", "__slice__"},
                   {"config",
                    {{"start", bound(range.start)},
                     {"stop", bound(range.stop)},
                     {"step", strict || range.step == 1 ? Json() : Json(range.step)}}}});
  }
  return key;
}

}  // namespace nyala
