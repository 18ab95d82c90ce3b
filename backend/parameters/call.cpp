// What a layer writes waits in a list, the last write of a variable counts, and is applied when the step has
// succeeded. Random keys hang on layer, call and pass, not on the order in which replicas come: the first
// draw of a pass out of training is a meeting, where one replica counts the pass and tells everybody the
// place of its rows in the batch.
#include <nyala/backend/parameters/call.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

void Call::restart(const CallOptions& options) {
  options_ = options;
  assignments_.clear();
  losses_.clear();
  metrics_.clear();
  draws_ = 0;
}

bool Call::is_trained(const VariableNode& node) const {
  if (!options_.trained) return node.trainable;
  const size_t leaf = static_cast<size_t>(node.leaf);
  return leaf < options_.trained->size() && (*options_.trained)[leaf];
}

Tensor Call::operator[](const Variable& variable) const {
  const VariableNode& node = variable.node();
  check_held(node);
  if (is_remote_table(node))
    throw StateError("variable " + in_quotes(node.spec.path) +
                     " is a table on parameter servers, which layers read by rows (Embedding does); nothing "
                     "in a step may need it as a whole: leave a regularizer out, or keep it in each worker, "
                     "below .remote_rows_above");
  const size_t copy = static_cast<size_t>(options_.local_index) % node.copies.size();
  Tensor value = node.copies[copy];
  if (node.copies.size() > 1) value.set_one_of_copies();
  if (options_.tape && options_.tape->recording && is_trained(node)) {
    const Tensor watched = options_.tape->watch(value, node.leaf, &node);
    if (!casts(node)) return watched;
    variable.node().casts.clear();
    return ops::detail::cast_of_leaf(watched, *options_.autocast);
  }
  if (!node.trainable)
    for (const auto& [assigned, queued] : assignments_)
      if (assigned == variable) return casts(node) ? ops::cast(queued, *options_.autocast) : queued;
  if (!casts(node)) return value;
  if (value.is_abstract()) return ops::cast(value, *options_.autocast);
  return variable.node().casts.get(value, *options_.autocast, copy);
}

bool Call::casts(const VariableNode& node) const {
  return options_.autocast && node.spec.autocast && is_floating(node.spec.dtype) &&
         node.spec.dtype != *options_.autocast;
}

void Call::add_loss(const Tensor& loss) { losses_.push_back(ops::cast(loss, dtype_of_sums(loss.dtype()))); }

void Call::assign(const Variable& variable, const Tensor& value) {
  const VariableSpec& spec = variable.node().spec;  // throws for an empty handle, before it is queued
  if (spec.aggregation == Aggregation::sum && spec.synchronization != Synchronization::on_read)
    throw InvalidArgumentError("assign: variable " + in_quotes(spec.path) +
                               " is the sum of what replicas write, each to a copy of its own: make it with "
                               "{.synchronization = Synchronization::on_read}, or by Builder::state");
  const bool is_cast = is_floating(spec.dtype) && is_floating(value.dtype());
  const Tensor held = is_cast ? ops::cast(value.detached(), spec.dtype) : value.detached();
  for (auto& [assigned, queued] : assignments_) {
    if (assigned == variable) {
      queued = held;
      return;
    }
  }
  assignments_.emplace_back(variable, held);
}

namespace {

/// What a replica brings to the first draw of a pass, and what it takes home.
struct PassContribution {
  int64_t rows = 0;
  uint64_t pass = 0;
  int64_t first_row = 0, global_rows = 0;
};

}  // namespace

namespace {

/// Where this process' rows begin in those of all, and how many these are.
std::pair<int64_t, int64_t> place_among(ProcessExchange& processes, int64_t rows) {
  const std::vector<int64_t> all = said_by_all(processes, rows, "rows that draw random numbers");
  const auto own = all.begin() + processes.rank();
  return {std::accumulate(all.begin(), own, int64_t{0}), std::accumulate(all.begin(), all.end(), int64_t{0})};
}

}  // namespace

void Call::begin_pass() {
  std::atomic<uint64_t>* const passes = std::exchange(options_.passes, nullptr);
  if (!passes) return;
  if (!options_.replica) {
    options_.pass = ++*passes;
    return;
  }
  PassContribution own{.rows = options_.rows};
  ProcessExchange* const processes = options_.replica->processes();
  options_.replica->barrier("drawing random numbers", &own, [=](Collectives::Contributions contributions) {
    const uint64_t pass = ++*passes;
    int64_t rows = 0;
    for (const void* contribution : contributions)
      rows += static_cast<const PassContribution*>(contribution)->rows;
    int64_t first = 0;
    if (processes) std::tie(first, rows) = place_among(*processes, rows);
    for (const void* contribution : contributions) {
      PassContribution& taken = *static_cast<PassContribution*>(const_cast<void*>(contribution));
      taken.pass = pass;
      taken.first_row = std::exchange(first, first + taken.rows);
      taken.global_rows = rows;
    }
  });
  options_.pass = own.pass;
  options_.first_row = own.first_row;
  options_.global_rows = own.global_rows;
}

namespace {

/// Whether a reduction of `x` goes over its rows.
bool meets_rows(const Tensor& x, const Axes& axes) {
  return axes.empty() ||
         std::any_of(axes.begin(), axes.end(), [&](int axis) { return x.shape().normalize_axis(axis) == 0; });
}

}  // namespace

Tensor Call::global_sum(const Tensor& x, const Axes& axes, bool keepdims) const {
  const Tensor own = ops::sum(x, axes, keepdims);
  return meets_rows(x, axes) ? ops::detail::replica_all_reduce(own, replica()) : own;
}

Tensor Call::global_mean(const Tensor& x, const Axes& axes, bool keepdims) const {
  if (!replica() || x.is_abstract() || !meets_rows(x, axes)) return ops::mean(x, axes, keepdims);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::float32;
  const Tensor wide = ops::cast(x, dtype_of_sums(dtype));
  int64_t count = axes.empty() ? x.num_elements() : 1;
  for (const int axis : axes) count *= x.shape()[x.shape().normalize_axis(axis)];
  const Tensor own = Tensor::full({}, static_cast<double>(count), wide.dtype(), x.device());
  return ops::cast(global_sum(wide, axes, keepdims) / ops::detail::replica_all_reduce(own, replica()), dtype);
}

RandomKey Call::random_key(uint64_t layer_key) {
  begin_pass();
  const uint64_t key = options_.pass == 0 ? layer_key : mix_key(mix_key(layer_key, "pass"), options_.pass);
  return {mix_key(key, draws_++), options_.first_row};
}

}  // namespace nyala
