#include <nyala/api/saving/config/op_config.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <nyala/api/model/graph.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

constexpr const char* kModule = "keras.src.ops.numpy";

/// The number that a single-element constant holds.
Json number_of(const Tensor& constant) {
  const Tensor value = ops::cast(constant, DType::float64);
  if (value.num_elements() != 1)
    throw InvalidArgumentError("an op with a constant of shape " + constant.shape().to_string() +
                               " cannot be saved yet; make the constant a layer's weight");
  return value.to_vector<double>()[0];
}

std::vector<Json> affine_arguments(const ops::AffineDescriptor& affine) {
  if (affine.offset == 0.0 && affine.scale == -1.0) return {Json()};
  if (affine.offset == 0.0) return {Json(), affine.scale};
  if (affine.scale == -1.0) return {affine.offset, Json()};
  if (affine.scale == 1.0 && affine.offset < 0.0) return {Json(), -affine.offset};
  if (affine.scale == 1.0) return {Json(), affine.offset};
  throw InvalidArgumentError("an op that scales and shifts at once cannot be saved yet; use Rescaling");
}

/// What a file says in place of the arguments of a call.
class Arguments {
 public:
  Arguments(const std::vector<OpArgument>& positional, const Json& keywords, const std::string& where)
      : positional_(positional), keywords_(keywords), where_(where) {}

  const Tensor& tensor(size_t i) const {
    if (i >= positional_.size() || !positional_[i].tensor.defined()) fail("a tensor", i);
    return positional_[i].tensor;
  }
  bool is_tensor(size_t i) const { return i < positional_.size() && positional_[i].tensor.defined(); }
  double number(size_t i) const {
    if (i >= positional_.size() || !positional_[i].value.is_number()) fail("a number", i);
    return positional_[i].value.get<double>();
  }
  /// The keyword, or the positional argument at `i`, or null.
  Json value(const char* keyword, size_t i) const {
    if (keywords_.contains(keyword)) return keywords_[keyword];
    return i < positional_.size() ? positional_[i].value : Json();
  }
  std::vector<int64_t> integers(const char* keyword, size_t i) const {
    const Json found = value(keyword, i);
    std::vector<int64_t> out;
    if (found.is_null()) return out;
    for (const Json& item : found.is_array() ? found : Json::array({found})) {
      if (!item.is_number_integer() && !item.is_null()) fail("integers", i);
      out.push_back(item.is_null() ? None : item.get<int64_t>());
    }
    return out;
  }
  std::vector<int> axes(const char* keyword, size_t i) const {
    const std::vector<int64_t> wide = integers(keyword, i);
    return {wide.begin(), wide.end()};
  }
  bool flag(const char* keyword) const {
    return keywords_.contains(keyword) && keywords_[keyword].is_boolean() && keywords_[keyword].get<bool>();
  }
  [[noreturn]] void fail(const std::string& expected, size_t i) const {
    throw FileFormatError(where_ + ": expected " + expected + " as argument " + std::to_string(i));
  }

 private:
  const std::vector<OpArgument>& positional_;
  const Json& keywords_;
  const std::string& where_;
};

using Run = std::function<Tensor(const Arguments&)>;

/// Two tensors, or one and a number on either side.
Run binary(Tensor (*tensors)(const Tensor&, const Tensor&), std::function<Tensor(const Tensor&, double)> right,
           std::function<Tensor(double, const Tensor&)> left) {
  return [=](const Arguments& a) {
    if (a.is_tensor(0) && a.is_tensor(1)) return tensors(a.tensor(0), a.tensor(1));
    return a.is_tensor(0) ? right(a.tensor(0), a.number(1)) : left(a.number(0), a.tensor(1));
  };
}

Run unary(Tensor (*op)(const Tensor&)) {
  return [op](const Arguments& a) { return op(a.tensor(0)); };
}

Run reduction(Tensor (*op)(const Tensor&, const std::vector<int>&, bool)) {
  return [op](const Arguments& a) { return op(a.tensor(0), a.axes("axis", 1), a.flag("keepdims")); };
}

Run two_tensors(Tensor (*op)(const Tensor&, const Tensor&)) {
  return [op](const Arguments& a) { return op(a.tensor(0), a.tensor(1)); };
}

Tensor cast_to(const Arguments& a) {
  const Json dtype = a.value("dtype", 1);
  if (!dtype.is_string()) a.fail("a dtype", 1);
  return ops::cast(a.tensor(0), parse_dtype(dtype.get<std::string>()));
}

std::map<std::string, Run> make_table() {
  using T = const Tensor&;
  std::map<std::string, Run> table;
  table["Add"] = binary(ops::add, [](T a, double b) { return a + b; }, [](double a, T b) { return a + b; });
  table["Subtract"] =
      binary(ops::subtract, [](T a, double b) { return a - b; }, [](double a, T b) { return a - b; });
  table["Multiply"] =
      binary(ops::multiply, [](T a, double b) { return a * b; }, [](double a, T b) { return a * b; });
  table["TrueDivide"] = table["Divide"] =
      binary(ops::divide, [](T a, double b) { return a / b; }, [](double a, T b) { return a / b; });
  table["NotEqual"] = [](const Arguments& a) {
    return a.is_tensor(1) ? ops::not_equal(a.tensor(0), a.tensor(1)) : ops::not_equal(a.tensor(0), a.number(1));
  };
  table["Power"] = [](const Arguments& a) {
    return a.is_tensor(1) ? ops::power(a.tensor(0), a.tensor(1)) : ops::power(a.tensor(0), a.number(1));
  };
  table["Negative"] = [](const Arguments& a) { return -a.tensor(0); };
  table["Exp"] = unary(ops::exp);
  table["Log"] = unary(ops::log);
  table["Sqrt"] = unary(ops::sqrt);
  table["Maximum"] = two_tensors(ops::maximum);
  table["Minimum"] = two_tensors(ops::minimum);
  table["Matmul"] = [](const Arguments& a) { return ops::matmul(a.tensor(0), a.tensor(1)); };
  table["Mean"] = reduction(ops::mean);
  table["Sum"] = reduction(ops::sum);
  table["Max"] = reduction(ops::max);
  table["Min"] = reduction(ops::min);
  table["Reshape"] = [](const Arguments& a) {
    return ops::reshape(a.tensor(0), Shape(a.integers("newshape", 1)));
  };
  table["Transpose"] = [](const Arguments& a) { return ops::transpose(a.tensor(0), a.axes("axes", 1)); };
  table["ExpandDims"] = [](const Arguments& a) {
    const std::vector<int> axes = a.axes("axis", 1);
    if (axes.size() != 1) a.fail("an axis", 1);
    return ops::expand_dims(a.tensor(0), axes[0]);
  };
  table["Squeeze"] = [](const Arguments& a) { return ops::squeeze(a.tensor(0), a.axes("axis", 1)); };
  table["Cast"] = cast_to;
  return table;
}

const std::map<std::string, Run>& op_table() {
  static const std::map<std::string, Run> table = make_table();
  return table;
}

}  // namespace

OpConfig op_to_config(const GraphNode& node) {
  if (node.op == &ops::kAffine)
    return {node.op_class, kModule, affine_arguments(node.descriptor.as<ops::AffineDescriptor>())};
  if (node.op == &ops::kNotEqualScalar)
    return {node.op_class, kModule, {Json(), node.descriptor.as<ops::NotEqualScalarDescriptor>().value}};
  if (node.op == &ops::kNotEqualScalar) {
    const double value = node.descriptor.as<ops::NotEqualScalarDescriptor>().value;
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return {node.op_class, kModule, {Json(), whole ? Json(static_cast<int64_t>(value)) : Json(value)}};
  }
  static const std::vector<std::string> plain = {"Add",     "Subtract", "Multiply", "TrueDivide", "NotEqual",
                                                 "Maximum", "Minimum",  "Negative", "Exp",        "Log",
                                                 "Sqrt",    "Matmul"};
  if (std::find(plain.begin(), plain.end(), node.op_class) == plain.end())
    throw InvalidArgumentError("the op '" + node.name + "' (" + node.op_class +
                               ") between layers cannot be saved yet; put it into a layer of your own");
  OpConfig config{node.op_class, kModule};
  for (const Tensor& input : node.inputs)
    config.arguments.push_back(symbolic(input) ? Json() : number_of(input));
  return config;
}

bool is_op_class(const std::string& class_name) { return op_table().contains(class_name); }

Tensor run_op(const std::string& class_name, const std::vector<OpArgument>& arguments, const Json& keywords,
              const std::string& where) {
  return op_table().at(class_name)(Arguments(arguments, keywords, where));
}

}  // namespace nyala
