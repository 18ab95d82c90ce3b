#include <nyala/api/saving/ops/op_arguments.h>

#include <algorithm>

#include <nyala/api/saving/ops/op_constants.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/files/json/json_integer.h>

namespace nyala {

const Json* OpArguments::find(const char* name, size_t position) const {
  const Json* value = b_.op.kwargs.find(name);
  if (!value && position < b_.op.args.size()) value = &b_.op.args[position];
  return value && !value->is_null() ? value : nullptr;
}

const Json& OpArguments::json(const char* name, size_t position) const {
  const Json* value = find(name, position);
  if (!value) fail(name, "a value");
  return *value;
}

bool OpArguments::holds_tensor(const Json& json) const {
  return json.is_object() && json.size() == 1 && json.contains("input");
}

Tensor OpArguments::tensor_of(const Json& json, const std::string& name) const {
  if (!holds_tensor(json)) fail(name, "a tensor");
  const Json& index = json.front();
  if (!index.is_number_unsigned() || index.get<size_t>() >= b_.inputs.size())
    fail(name, "a tensor of the graph");
  return b_.inputs[index.get<size_t>()];
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
  const auto integer = integer_in(value);
  if (!integer) fail(name, "an integer of 64 bits");
  return *integer;
}

int OpArguments::small_integer(const char* name, int otherwise) const {
  return to_small(integer(name, otherwise), name);
}

int OpArguments::to_small(int64_t value, const char* name) const {
  try {
    return detail::to_int(value, b_.where + ", " + detail::in_quotes(name));
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(error.what());
  }
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
    const auto integer = integer_in(item);
    if (!integer && !item.is_null()) a.fail(name, "integers of 64 bits");
    out.push_back(integer.value_or(None));
  }
  return out;
}

std::vector<int64_t> OpArguments::integers(const char* name) const {
  return integers_of(setting(name), *this, name);
}

std::vector<int> OpArguments::small_integers(const char* name) const {
  const Json written = setting(name);
  if (written.is_array() && std::ranges::any_of(written, [](const Json& item) { return item.is_null(); }))
    fail(name, "integers");
  std::vector<int> out;
  for (const int64_t value : integers_of(written, *this, name)) out.push_back(to_small(value, name));
  return out;
}

void OpArguments::expect_default(const char* name, const Json& value) const {
  const Json found = setting(name);
  if (!found.is_null() && found != value)
    fail(name, value.is_null() ? "nothing (other values are not built yet)" : value.dump());
}

void OpArguments::fail(const std::string& name, const std::string& expected) const {
  throw FileFormatError(b_.where + ", " + detail::in_quotes(name) + ": expected " + expected);
}

}  // namespace nyala
