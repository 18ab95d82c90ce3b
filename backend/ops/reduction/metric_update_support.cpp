#include <array>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/reduction/metric_update_support.h>

namespace nyala::ops::detail {

using namespace nyala::detail;

void check_metric_weights(InferContext& c, size_t input, const Shape& values) {
  if (c.num_inputs() <= input) return;
  const Shape& weights = c.shape(input);
  if (c.dtype(input) != DType::float64 || weights.rank() > values.rank() ||
      !matches(weights, values.slice(0, weights.rank())))
    c.fail("expected float64 weights of a shape that " + values.to_string() + " begins with, received " +
           weights.to_string());
}

void check_metric_pair(InferContext& c) {
  if (!matches(c.shape(0), c.shape(1)) || !is_floating(c.dtype(1)))
    c.fail("expected y_true and y_pred of one shape, received " + c.shape(0).to_string() + " and " +
           c.shape(1).to_string());
  check_metric_weights(c, 2, c.shape(1));
}

Tensor run_metric_update(const OpDef& op, const Descriptor& descriptor,
                         std::initializer_list<const Tensor*> inputs, const Tensor& weights) {
  std::array<const Tensor*, 3> all{};
  size_t count = 0;
  for (const Tensor* input : inputs) all[count++] = input;
  Tensor as_double;
  if (weights.defined()) {
    as_double = cast(weights, DType::float64);
    all[count++] = &as_double;
  }
  Tensor output;
  dispatch(op, descriptor, TensorPointers(all.data(), count), std::span(&output, 1));
  return output;
}

Tensor floating_metric_values(const Tensor& x) {
  return is_floating(x.dtype()) ? x : cast(x, DType::float64);
}

}  // namespace nyala::ops::detail
