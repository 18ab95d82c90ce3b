#include <algorithm>
#include <limits>

#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

Tensors read_cast(const OpArguments& a) {
  return {ops::cast(a.tensor("x", 0), dtype_argument(a, DType::float32))};
}

Tensors read_stop_gradient(const OpArguments& a) { return {a.tensor("variable", 0).detached()}; }

Tensors read_convert(const OpArguments& a) { return {a.tensor("x", 0)}; }

Tensors read_slice(const OpArguments& a) {
  return {ops::slice(a.tensor("inputs", 0), integers_of(a.json("start_indices", 1), a, "start_indices"),
                     a.integers("shape"))};
}

Tensors read_unstack(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const int axis = x.shape().normalize_axis(axis_argument(a, 0));
  const auto size = static_cast<int>(std::min<int64_t>(x.shape()[axis], std::numeric_limits<int>::max()));
  Tensors parts = ops::split(x, a.small_integer("num", size), axis);
  for (Tensor& part : parts) part = ops::squeeze(part, {axis});
  return parts;
}

constexpr OpRow kCoreRows[] = {
    {"Cast",
     read_cast,
     {{&ops::kCast, write_dtype<ops::CastDescriptor>}},
     {{"cast"}, {}, {{"dtype", "dtype"}}}},
    {"StopGradient", read_stop_gradient, {}, legacy_unary("stop_gradient")},
    {"ConvertToTensor", read_convert},
    {"Slice", read_slice},
    {"Unstack", read_unstack},
};

}  // namespace

OpFamily core_ops() { return {"keras.src.ops.core", kCoreRows}; }

}  // namespace nyala
