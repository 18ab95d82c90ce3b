#include <nyala/backend/parameters/variable_write.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/parameters/distributed_variable.h>
#include <nyala/backend/parameters/variable_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Kind = VariableWrite::Kind;

std::string text_of(const Tensor& value) {
  return value.shape().to_string() + " of " + std::string(name_of(value.dtype()));
}

bool is_zero(const Tensor& value) {
  const std::vector<double> numbers = ops::cast(value.detached(), DType::float64).to_vector<double>();
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
}

VariableWrite checked_scatter(const VariableNode& node, VariableWrite write) {
  const Shape& shape = node.spec.shape;
  const DType indices = write.indices.dtype();
  if (shape.rank() == 0)
    throw ShapeError(place_of(node, write) + "a scalar has no slices; expected a variable with an axis 0");
  if (indices != DType::int32 && indices != DType::int64 && indices != DType::uint8)
    throw DTypeError(place_of(node, write) + "expected indices of int32, int64 or uint8, received " +
                     std::string(name_of(indices)));
  Shape expected = write.indices.shape();
  for (int axis = 1; axis < shape.rank(); ++axis) expected.append(shape[axis]);
  if (write.value.shape() != expected || write.value.dtype() != node.spec.dtype)
    throw ShapeError(place_of(node, write) + "expected values of shape " + expected.to_string() +
                     " and dtype " + std::string(name_of(node.spec.dtype)) + ", received " +
                     text_of(write.value));
  const std::vector<int64_t> rows = ops::cast(write.indices.detached(), DType::int64).to_vector<int64_t>();
  for (int64_t row : rows)
    if (row < 0 || row >= shape[0])
      throw NumericError(place_of(node, write) + "index " + std::to_string(row) + " is outside [0, " +
                         std::to_string(shape[0]) + ")");
  const int64_t count = write.indices.num_elements();
  write.indices = write.indices.detached().with_shape({count});
  write.value = write.value.detached().with_shape(shape.with(0, count));
  if (write.scatter == ops::ScatterKind::divide && !is_floating(node.spec.dtype)) {
    const std::vector<int64_t> divisors = ops::cast(write.value, DType::int64).to_vector<int64_t>();
    if (std::find(divisors.begin(), divisors.end(), 0) != divisors.end())
      throw NumericError(place_of(node, write) + "an integer is divided by zero");
  }
  return write;
}

/// Runs body on float32 copies of `copy` and `value` and casts back, where they are 16-bit floats.
template <class Body>
void in_compute_dtype(const Tensor& copy, const Tensor& value, Body&& body) {
  if (!is_half(copy.dtype())) return body(copy, value);
  const Tensor wide = ops::cast(copy.detached(), DType::float32);
  body(wide, ops::cast(value.detached(), DType::float32));
  copy.copy_from(ops::cast(wide, copy.dtype()));
}

bool same_everywhere(std::span<const VariableWrite* const> writes) {
  return std::all_of(writes.begin(), writes.end(), [&](const VariableWrite* write) {
    return write->number ? writes[0]->number && number_of(*write) == number_of(*writes[0])
                         : write->value.raw() == writes[0]->value.raw();
  });
}

VariableWrite reduced_slices(std::span<const VariableWrite* const> writes, bool mean, Device device) {
  VariableWrite out = *writes[0];
  Tensors indices, values;
  for (const VariableWrite* write : writes) {
    indices.push_back(ops::cast(ops::seen_from(write->indices, device), DType::int64));
    values.push_back(ops::seen_from(write->value, device));
  }
  const DType dtype = out.value.dtype();
  out.indices = ops::concatenate(indices, 0);
  out.value = ops::concatenate(values, 0);
  if (mean)
    out.value =
        ops::cast(ops::cast(out.value, dtype_of_sums(dtype)) / static_cast<double>(writes.size()), dtype);
  return out;
}

}  // namespace

std::string detail::place_of(const VariableNode& node, const VariableWrite& write) {
  return "variable " + in_quotes(node.spec.path) + ", " + std::string(write.method) + ": ";
}

VariableWrite detail::checked(const VariableNode& node, VariableWrite write) {
  if (write.kind == Kind::scatter) return checked_scatter(node, std::move(write));
  if (write.value.shape() != node.spec.shape || write.value.dtype() != node.spec.dtype)
    throw ShapeError(place_of(node, write) + "expected a value of shape " + node.spec.shape.to_string() +
                     " and dtype " + std::string(name_of(node.spec.dtype)) + ", received " +
                     text_of(write.value));
  write.value = write.value.detached();
  return write;
}

void detail::apply(const VariableWrite& write, const Tensor& copy) {
  if (write.kind == Kind::assign) return copy.copy_from(write.value);
  if (write.value.num_elements() == 0) return;
  const Tensor value = ops::seen_from(write.value, copy.device());
  in_compute_dtype(copy, value, [&](const Tensor& y, const Tensor& x) {
    if (write.kind == Kind::scatter)
      ops::detail::scatter_into(y, write.scatter, ops::seen_from(write.indices, y.device()), x);
    else
      y.copy_from(write.kind == Kind::add ? ops::add(y, x) : ops::subtract(y, x));
  });
}

VariableWrite detail::reduce_writes(const VariableNode& node, std::span<const VariableWrite* const> writes,
                                    Device device) {
  const VariableWrite& first = *writes[0];
  const Aggregation aggregation = node.spec.aggregation;
  if (aggregation == Aggregation::only_first_replica) return first;
  const bool mean = aggregation == Aggregation::mean;
  if (first.kind == Kind::scatter) return reduced_slices(writes, mean, device);
  if (same_everywhere(writes)) {
    if (mean || is_zero(first.value)) return first;
    throw InvalidArgumentError(place_of(node, first) +
                               "the same value on all replicas cannot be summed; expected a value made by "
                               "each replica, or another aggregation than sum");
  }
  VariableWrite out = first;
  const DType dtype = first.value.dtype(), compute = dtype_of_sums(dtype);
  Tensor sum = ops::cast(ops::seen_from(first.value, device), compute);
  for (const VariableWrite* write : writes.subspan(1))
    sum = ops::add(sum, ops::cast(ops::seen_from(write->value, device), compute));
  out.value = ops::cast(mean ? sum / static_cast<double>(writes.size()) : sum, dtype);
  return out;
}

}  // namespace nyala
