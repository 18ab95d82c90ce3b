#include <nyala/api/saving/ops/op_constants.h>

#include <optional>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/files/json/json_integer.h>
#include <nyala/files/json/json_text.h>

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

namespace {

template <class T>
Json nested(const std::vector<T>& values, const Shape& shape, int axis, size_t& next) {
  if (axis == shape.rank()) return Json(static_cast<T>(values[next++]));
  Json list = Json::array();
  for (int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested(values, shape, axis + 1, next));
  return list;
}

template <class T>
Json nested(const Tensor& constant, DType dtype) {
  size_t next = 0;
  return nested(ops::cast(constant, dtype).to_vector<T>(), constant.shape(), 0, next);
}

Json values_of(const Tensor& constant) {
  if (constant.dtype() == DType::bool_) return nested<bool>(constant, DType::bool_);
  if (is_floating(constant.dtype())) return nested<double>(constant, DType::float64);
  return nested<int64_t>(constant, DType::int64);
}

Json tensor_json(const char* class_name, const Tensor& constant) {
  return {{"class_name", class_name},
          {"config", {{"value", values_of(constant)}, {"dtype", std::string(name_of(constant.dtype()))}}}};
}

}  // namespace

Json constant_to_json(const Tensor& constant) {
  return constant.rank() == 0 ? values_of(constant) : tensor_json("__tensor__", constant);
}

Json array_to_json(const Tensor& constant) { return tensor_json("__numpy__", constant); }

bool is_constant(const Json& json) {
  return json.is_object() && json.contains("class_name") && json.contains("config") &&
         (json["class_name"] == "__tensor__" || json["class_name"] == "__numpy__");
}

namespace {

/// Whole numbers of nested lists whose sizes are known, exactly.
void append_integers(const Json& json, std::vector<int64_t>& out, const std::string& where) {
  if (json.is_array()) {
    for (const Json& item : json) append_integers(item, out, where);
    return;
  }
  const auto integer = json.is_boolean() ? std::optional<int64_t>(json.get<bool>()) : integer_in(json);
  if (!integer) throw FileFormatError(where + ": expected whole numbers, found " + quoted_json(json));
  out.push_back(*integer);
}

DType constant_dtype(const Json& config, const std::string& where) {
  const Json* const name = config.find("dtype");
  if (!name) return DType::float32;
  if (!name->is_string())
    throw FileFormatError(where + ", 'dtype': expected the name of a dtype, found " + quoted_json(*name));
  try {
    return parse_dtype(name->as_string());
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(where + ", 'dtype': " + error.what());
  }
}

}  // namespace

Tensor constant_from_json(const Json& json, const std::string& where) {
  const Json& config = json["config"];
  if (!config.is_object() || !config.contains("value"))
    throw FileFormatError(where + ": a tensor without a value");
  const DType dtype = constant_dtype(config, where);
  const Tensor numbers = tensor_of_numbers(config["value"], where);
  if (is_floating(dtype) || dtype == DType::bool_) return ops::cast(numbers, dtype);
  std::vector<int64_t> integers;
  append_integers(config["value"], integers, where);
  const Tensor exact = Tensor::from(integers, numbers.shape(), Device{});
  const Tensor held = ops::cast(exact, dtype);
  if (ops::cast(held, DType::int64).to_vector<int64_t>() != integers)
    throw FileFormatError(where + ": expected numbers that " + std::string(name_of(dtype)) + " holds");
  return held;
}

}  // namespace nyala
