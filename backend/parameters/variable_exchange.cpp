// The replicas of a process bring their writes together as if they were all, then the processes do. A number
// that all replicas write has no sum; whether all do, each process says before.
#include <nyala/backend/parameters/variable_exchange.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Whether all replicas of all processes write one number.
bool is_one_number(const VariableWrite& write, ProcessExchange& processes, std::string_view what) {
  const int64_t own[] = {write.number, write.number ? std::bit_cast<int64_t>(number_of(write)) : 0};
  std::vector<int64_t> all(2 * static_cast<size_t>(processes.size()));
  processes.all_numbers(own, all, what);
  for (size_t i = 0; i < all.size(); i += 2)
    if (!all[i] || all[i + 1] != all[1]) return false;
  return true;
}

Tensor joined(const Tensor& own, ProcessExchange& processes, std::string_view what) {
  return ops::concatenate(processes.all_values({own}, what), 0);
}

}  // namespace

double detail::number_of(const VariableWrite& write) {
  if (write.value.num_elements() == 0) return 0.0;
  return ops::cast(write.value.detached(), DType::float64).to_vector<double>()[0];
}

VariableWrite detail::reduce_writes_of_all(const VariableNode& node,
                                           std::span<const VariableWrite* const> writes, Device device,
                                           ProcessExchange& processes) {
  const Aggregation aggregation = node.spec.aggregation;
  const std::string what = place_of(node, *writes[0]);
  VariableWrite out = writes.size() == 1 ? *writes[0] : reduce_writes(node, writes, device);
  const bool scatter = out.kind == VariableWrite::Kind::scatter;
  const DType dtype = out.value.dtype();
  if (aggregation == Aggregation::only_first_replica) {
    if (scatter) out.indices = processes.all_values({out.indices}, what)[0];
    out.value = processes.all_values({out.value}, what)[0];
    return out;
  }
  const bool mean = aggregation == Aggregation::mean;
  if (!scatter && is_one_number(out, processes, what)) {
    if (mean || number_of(out) == 0) return out;
    throw InvalidArgumentError(what +
                               "the same value on all replicas cannot be summed; expected a value made by "
                               "each replica, or another aggregation than sum");
  }
  Tensor value = ops::cast(ops::seen_from(out.value, Device{}), dtype_of_sums(dtype)).clone();
  if (mean)
    value = value * (static_cast<double>(writes.size()) / static_cast<double>(processes.num_replicas()));
  if (scatter) {
    out.indices = joined(ops::cast(ops::seen_from(out.indices, Device{}), DType::int64), processes, what);
    value = joined(value, processes, what);
  } else {
    processes.all_reduce_sum(value, what);
  }
  out.value = ops::cast(value, dtype);
  return out;
}

}  // namespace nyala
