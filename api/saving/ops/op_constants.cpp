#include <nyala/api/saving/ops/op_constants.h>

#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

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

Json nested(const std::vector<double>& values, const Shape& shape, int axis, size_t& next) {
  if (axis == shape.rank()) return values[next++];
  Json list = Json::array();
  for (int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested(values, shape, axis + 1, next));
  return list;
}

}  // namespace

Json constant_to_json(const Tensor& constant) {
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

bool is_constant(const Json& json) {
  return json.is_object() && json.contains("class_name") && json.contains("config") &&
         (json["class_name"] == "__tensor__" || json["class_name"] == "__numpy__");
}

Tensor constant_from_json(const Json& json, const std::string& where) {
  const Json& config = json["config"];
  if (!config.is_object() || !config.contains("value"))
    throw FileFormatError(where + ": a tensor without a value");
  const bool has_dtype = config.contains("dtype") && config["dtype"].is_string();
  return ops::cast(tensor_of_numbers(config["value"], where),
                   parse_dtype(has_dtype ? config["dtype"].get<std::string>() : "float32"));
}

}  // namespace nyala
