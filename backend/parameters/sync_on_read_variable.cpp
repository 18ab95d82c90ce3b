// Each replica adds to its own copy without meeting the others; only a read between steps brings them
// together: the sum or mean in the order of replicas. Assigning a total to a sum gives each copy its share,
// integers so that the shares add up to the total exactly.
#include <nyala/backend/parameters/sync_on_read_variable.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/undying.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The sum of integers in the order of replicas keeps its dtype; 16-bit floats are added in float32.
Tensor sum_of_copies(const VariableNode& node) {
  const Device device = node.copies[0].device();
  const DType compute = dtype_of_sums(node.spec.dtype);
  Tensor sum = ops::cast(node.copies[0], compute);
  for (size_t i = 1; i < node.copies.size(); ++i)
    sum = ops::add(sum, ops::cast(ops::seen_from(node.copies[i], device), compute));
  return sum;
}

/// Replica r's share of integers: value / N, and one more for the first value % N.
template <class T>
Tensor integer_share(const Tensor& value, size_t replica, size_t replicas) {
  std::vector<T> shares = value.to_vector<T>();
  const T count = static_cast<T>(replicas);
  for (T& share : shares) {
    const T rest = static_cast<T>(share % count);
    const T extra = static_cast<T>(static_cast<int64_t>(replica) < std::abs(static_cast<int64_t>(rest)));
    share = static_cast<T>(share / count + (rest < 0 ? -extra : extra));
  }
  return Tensor::from(shares, value.shape(), Device{});
}

Tensor share_of(const Tensor& value, size_t replica, size_t replicas) {
  switch (value.dtype()) {
    case DType::int32:
      return integer_share<int32_t>(value, replica, replicas);
    case DType::int64:
      return integer_share<int64_t>(value, replica, replicas);
    case DType::uint8:
      return integer_share<uint8_t>(value, replica, replicas);
    case DType::float32:
    case DType::float64:
      return value / static_cast<double>(replicas);
    default:
      return ops::cast(ops::cast(value, DType::float32) / static_cast<double>(replicas), value.dtype());
  }
}

/// Whether copies differ is asked of nobody: every process brings its own.
Tensor read_from_all(const VariableNode& node, ProcessExchange& processes) {
  const std::string what = "reading variable " + in_quotes(node.spec.path);
  if (node.spec.aggregation == Aggregation::only_first_replica) {
    const Tensor first = node.copies[0].clone();
    processes.broadcast(first, what);
    return first;
  }
  const Tensor sum = sum_of_copies(node).clone();
  processes.all_reduce_sum(sum, what);
  const bool mean = node.spec.aggregation == Aggregation::mean;
  return ops::cast(mean ? sum / static_cast<double>(processes.num_replicas()) : sum, node.spec.dtype);
}

}  // namespace

const SyncOnReadVariable& SyncOnReadVariable::instance() {
  static const detail::Undying<SyncOnReadVariable> kind;
  return *kind;
}

Tensor SyncOnReadVariable::read(const VariableNode& node, const VariablePlace& place) const {
  const Aggregation aggregation = node.spec.aggregation;
  if (place.context != VariablePlace::Context::cross_replica) return own_copy(node, place);
  if (aggregation == Aggregation::none)
    throw StateError("variable " + in_quotes(node.spec.path) +
                     ", value: its copies are brought together when they are read, but it has aggregation "
                     "none; read it inside Strategy::run, or make it with another aggregation");
  const auto owner = node.owner.lock();
  if (owner && owner->processes()) return read_from_all(node, *owner->processes());
  return read_here(node);
}

Tensor SyncOnReadVariable::read_here(const VariableNode& node) {
  const Aggregation aggregation = node.spec.aggregation;
  const size_t replicas = node.copies.size();
  if (replicas == 1 || aggregation == Aggregation::only_first_replica) return node.copies[0];
  if (aggregation == Aggregation::sum) return ops::cast(sum_of_copies(node), node.spec.dtype);
  if (!node.diverged) return node.copies[0];
  return ops::cast(sum_of_copies(node) / static_cast<double>(replicas), node.spec.dtype);
}

void SyncOnReadVariable::write(VariableNode& node, const VariablePlace& place,
                               const VariableWrite& write) const {
  if (write.kind == VariableWrite::Kind::scatter && !node.plain)
    throw InvalidArgumentError(place_of(node, write) +
                               "not possible on a variable that is synchronised on reads; expected "
                               "Synchronization::on_write");
  if (place.context == VariablePlace::Context::cross_replica) return write_everywhere(node, write);
  if (place.context == VariablePlace::Context::replica) check_own_strategy(node, place, write);
  if (node.copies.size() > 1) node.diverged = true;
  apply(write, node.copies.at(static_cast<size_t>(place.local_index)));
}

void SyncOnReadVariable::write_everywhere(VariableNode& node, const VariableWrite& write) {
  const auto owner = node.owner.lock();
  const ProcessExchange* const processes = owner ? owner->processes() : nullptr;
  const size_t replicas = processes ? static_cast<size_t>(processes->num_replicas()) : node.copies.size();
  const size_t first = processes ? static_cast<size_t>(processes->first_replica()) : 0;
  const bool sum = node.spec.aggregation == Aggregation::sum;
  if (sum && write.kind != VariableWrite::Kind::assign)
    throw StateError(place_of(node, write) +
                     "between steps a sum over replicas can be assigned, but not added to; call it inside "
                     "Strategy::run, or assign the new total");
  if (!sum || replicas == 1) {
    write_all(node, write);
    if (write.kind == VariableWrite::Kind::assign) node.diverged = false;
    return;
  }
  for (size_t copy = 0; copy < node.copies.size(); ++copy) {
    VariableWrite share = write;
    share.value = share_of(write.value, first + copy, replicas);
    apply(share, node.copies[copy]);
  }
}

}  // namespace nyala
