// Reductions are built on sum_in_place over flat buffers, so a new kind of exchange has that one function to
// write. A mean is the sum, divided afterwards. Half-precision values are summed in float32, so the rounding
// does not grow with the replicas. broadcast and gather are copies.
#include <nyala/strategies/cross_device/cross_device_ops.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/strategies/cross_device/buffers.h>
#include <nyala/strategies/cross_device/mean_of_sum.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string kind_of(const Tensor& value) {
  return std::string(name_of(value.dtype())) + " " + value.shape().to_string();
}

void check_values(const std::string& where, std::span<const Tensor> values) {
  if (values.empty()) throw InvalidArgumentError(where + ": expected one value per replica, received none");
  const DType dtype = values[0].dtype();
  if (!is_floating(dtype) && dtype != DType::int32 && dtype != DType::int64)
    throw DTypeError(where + ": expected floating point, int32 or int64 values, received " +
                     std::string(name_of(dtype)));
  for (const Tensor& value : values)
    if (value.shape() != values[0].shape() || value.dtype() != dtype)
      throw ShapeError(where + ": expected values of one shape and dtype, received " + kind_of(values[0]) +
                       " and " + kind_of(value));
}

void check_destinations(const std::string& where, const std::vector<Device>& destinations) {
  if (destinations.empty())
    throw InvalidArgumentError(where + ": expected at least one destination, received none");
}

}  // namespace

void CrossDeviceOps::all_reduce(ReduceOp op, std::span<const Tensor> buffers, bool to_all) const {
  check_values(name(), buffers);
  const int64_t count = buffers[0].num_elements();
  if (buffers[0].rank() != 1)
    throw ShapeError(name() + ": expected flat tensors, received " + buffers[0].shape().to_string());
  if (count == 0 || buffers.size() < 2) return;
  if (is_half(buffers[0].dtype())) {
    Tensors wide;
    for (const Tensor& buffer : buffers) wide.push_back(ops::cast(buffer, DType::float32));
    all_reduce(op, wide, to_all);
    for (size_t i = 0; i < (to_all ? buffers.size() : 1); ++i)
      buffers[i].copy_from(ops::cast(wide[i], buffers[i].dtype()));
    return;
  }
  sum_in_place(buffers, to_all);
  if (op == ReduceOp::sum) return;
  for (const Tensor& buffer : buffers.first(to_all ? buffers.size() : 1))
    buffer.copy_from(mean_of_sum(buffer, std::ssize(buffers)));
}

Tensors CrossDeviceOps::reduce(ReduceOp op, const Tensors& values,
                               const std::vector<Device>& destinations) const {
  check_values(name() + ".reduce", values);
  check_destinations(name() + ".reduce", destinations);
  const Shape& shape = values[0].shape();
  Tensors buffers;
  std::vector<Device> places;
  for (const Tensor& value : values) {
    buffers.push_back(value.clone().with_shape({shape.num_elements()}));
    places.push_back(value.device());
  }
  const bool to_all = places == destinations;
  all_reduce(op, buffers, to_all);
  Tensors results;
  for (size_t i = 0; i < destinations.size(); ++i)
    results.push_back((to_all ? buffers[i] : copy_on(buffers[0], destinations[i])).with_shape(shape));
  return results;
}

std::vector<Tensors> CrossDeviceOps::batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                                  const std::vector<Device>& destinations) const {
  std::vector<Tensors> results;
  for (const Tensors& value : values) results.push_back(reduce(op, value, destinations));
  return results;
}

Tensors CrossDeviceOps::broadcast(const Tensor& value, const std::vector<Device>& destinations) const {
  check_destinations(name() + ".broadcast", destinations);
  Tensors copies;
  for (Device destination : destinations) copies.push_back(copy_on(value, destination));
  return copies;
}

Tensors CrossDeviceOps::gather(const Tensors& values, const std::vector<Device>& destinations,
                               int axis) const {
  if (values.empty())
    throw InvalidArgumentError(name() + ".gather: expected one value per replica, received none");
  check_destinations(name() + ".gather", destinations);
  if (values[0].rank() == 0)
    throw ShapeError(name() + ".gather: scalars have no axis to gather along; give them one first");
  Tensors parts;
  for (const Tensor& value : values) parts.push_back(ops::seen_from(value, destinations[0]));
  Tensors results{parts.size() == 1 ? parts[0].clone() : ops::concatenate(parts, axis)};
  for (size_t i = 1; i < destinations.size(); ++i) results.push_back(copy_on(results[0], destinations[i]));
  return results;
}

}  // namespace nyala
