// Each step begins with three numbers from every process, so that all end in the same step, and a feed that
// is shorter on one of them is an error instead of a wait. What the replicas summed up is gathered when a
// step ends: whoever reads logs later waits for nobody. Assigned state goes in one exchange per dtype.
#include <nyala/api/training/among_processes.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <nyala/api/base/output.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/batch_kind.h>
#include <nyala/strategies/cross_device/mean_of_sum.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// What each process says of its next batch.
struct Said {
  int64_t stops, comes, rows, own, kind;
};

/// The rows of lower ranks come first.
NextBatch place_own(const std::vector<Said>& all, size_t rank, BatchPlace& place) {
  place = {.own = all[rank].rows};
  for (size_t other = 0; other < all.size(); ++other) {
    if (!all[other].own)
      throw CommunicationError("the next batch: rank " + std::to_string(other) +
                               " has another AutoShardPolicy than rank " + std::to_string(rank));
    if (other < rank) place.first += all[other].rows;
    place.rows += all[other].rows;
  }
  return std::ranges::any_of(all, &Said::comes) ? NextBatch::comes : NextBatch::is_none;
}

std::string text_of(const Said& one) {
  return one.comes ? "one of " + std::to_string(one.rows) + " rows" : "none";
}

void check_kinds(ProcessExchange& processes, const std::vector<Said>& all, const NextBatchHere& here) {
  const auto first = std::ranges::find_if(all, [](const Said& one) { return one.comes != 0; });
  const auto differs = [&](const Said& one) { return one.comes && one.kind != first->kind; };
  if (std::ranges::any_of(all, differs))
    refuse_kinds(processes, here.comes ? here.batch : nullptr, "the next batch");
}

}  // namespace

NextBatch next_of_all(StrategyNode& strategy, const NextBatchHere& here, BatchPlace* place) {
  ProcessExchange* const processes = strategy.processes();
  if (!processes) {
    if (here.stops) return NextBatch::is_not_wanted;
    return here.comes ? NextBatch::comes : NextBatch::is_none;
  }
  const int64_t kind = here.comes && here.batch ? kind_of(*here.batch) : 0;
  const Said own{here.stops, here.comes, here.rows, here.own, kind};
  const std::vector<Said> all = said_by_all(*processes, own, "the next batch");
  if (std::ranges::any_of(all, &Said::stops)) return NextBatch::is_not_wanted;
  check_kinds(*processes, all, here);
  if (place && here.own) return place_own(all, static_cast<size_t>(processes->rank()), *place);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Said& other = all[rank];
    if (other.comes != all[0].comes || other.rows != all[0].rows || other.own != all[0].own)
      throw CommunicationError("the next batch: rank 0 has " + text_of(all[0]) + ", rank " +
                               std::to_string(rank) + " has " + text_of(other) +
                               "; give every process the same data: it takes its rows of each batch");
  }
  return here.comes ? NextBatch::comes : NextBatch::is_none;
}

NextBatch next_of_all(StrategyNode& strategy, Feed& feed, Batch& batch, bool stops) {
  const bool comes = !stops && feed.next(batch);
  BatchPlace place;
  const int64_t rows = comes ? global_rows(feed, batch) : 0;
  const NextBatch next = next_of_all(
      strategy,
      {.stops = stops, .comes = comes, .rows = rows, .own = feed.is_own(), .batch = comes ? &batch : nullptr},
      &place);
  if (!feed.is_own() || next != NextBatch::comes) return next;
  if (!comes && batch.x.empty())
    throw InvalidArgumentError(
        "the Dataset of this process has no batch, those of others have; expected one at least");
  if (!comes) batch = rows_of(batch, 0, 0);
  feed.set_place(place);
  return next;
}

int resolved_verbosity(StrategyNode& strategy, int verbose) {
  const ProcessExchange* const processes = strategy.processes();
  ParameterServerJob* const job = strategy.parameter_server_job();
  if (verbose == kVerboseAuto && job && !job->is_chief()) return 0;
  if (verbose == kVerboseAuto && processes && processes->rank() != 0) return 0;
  return detail::resolved_verbosity(verbose);
}

bool any_stops(StrategyNode& strategy, bool stops) {
  ProcessExchange* const processes = strategy.processes();
  if (!processes) return stops;
  const auto all = said_by_all(*processes, int64_t{stops}, "whether training stops");
  return std::ranges::any_of(all, [](int64_t one) { return one != 0; });
}

namespace {

/// One tensor for each replica of all processes from those of this one; the same shapes.
Tensors of_all_replicas(StrategyNode& strategy, const Tensors& of_local_replicas) {
  ProcessExchange* const processes = strategy.processes();
  if (!processes) return of_local_replicas;
  const Tensor& first = of_local_replicas.at(0);
  const Tensor local =
      Tensor::empty({std::ssize(of_local_replicas), first.num_elements()}, first.dtype(), Device{});
  for (size_t i = 0; i < of_local_replicas.size(); ++i)
    local.rows(static_cast<int64_t>(i), 1)
        .with_shape({first.num_elements()})
        .copy_from(of_local_replicas[i].with_shape({first.num_elements()}));
  const Tensor all = processes->all_gather(local, "what a step sums up");
  Tensors out;
  for (int64_t replica = 0; replica < all.shape()[0]; ++replica)
    out.push_back(all.rows(replica, 1).with_shape(first.shape()));
  return out;
}

}  // namespace

void bring_together(StrategyNode& strategy, const std::vector<Metric>& metrics) {
  const size_t first = static_cast<size_t>(strategy.replica_id(0)),
               replicas = static_cast<size_t>(strategy.num_replicas_in_sync());
  std::vector<Device> places(replicas);
  for (int index = 0; index < strategy.num_local_replicas(); ++index)
    places[static_cast<size_t>(strategy.replica_id(index))] = strategy.device(index);
  for (Metric metric : metrics) {
    std::vector<std::vector<double>> parts = metric.sums().parts(metric.node());
    parts.resize(std::max(parts.size(), replicas), metric.node().initial_state());
    Tensors own;
    for (int index = 0; index < strategy.num_local_replicas(); ++index)
      own.push_back(Tensor::from(parts[first + static_cast<size_t>(index)]));
    parts.clear();
    for (const Tensor& part : of_all_replicas(strategy, own)) parts.push_back(part.to_vector<double>());
    metric.sums().set_parts(metric.node(), parts, places);
  }
}

namespace {

/// As bytes: each name behind its length, reduction, rows and value.
Tensor packed(const std::vector<LoggedValue>& logged) {
  std::vector<uint8_t> bytes;
  const auto put = [&](const void* data, size_t size) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
  };
  for (const LoggedValue& one : logged) {
    const int64_t head[] = {std::ssize(one.name), one.op == ReduceOp::mean, one.rows};
    const double value = one.value.item();
    put(head, sizeof head);
    put(&value, sizeof value);
    put(one.name.data(), one.name.size());
  }
  return Tensor::from(bytes);
}

std::vector<LoggedValue> unpacked(const Tensor& packed) {
  const std::vector<uint8_t> bytes = packed.to_vector<uint8_t>();
  std::vector<LoggedValue> logged;
  for (size_t at = 0; at < bytes.size();) {
    int64_t head[3];
    double value = 0;
    const size_t fixed = sizeof head + sizeof value;
    if (bytes.size() - at >= fixed) std::memcpy(head, bytes.data() + at, sizeof head);
    if (bytes.size() - at < fixed || head[0] < 0 ||
        static_cast<uint64_t>(head[0]) > bytes.size() - at - fixed)
      throw CommunicationError("what a step logs: a peer sent fewer bytes than it said");
    std::memcpy(&value, bytes.data() + at + sizeof head, sizeof value);
    at += fixed;
    const auto name = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    logged.push_back({std::string(name, name + head[0]), head[1] ? ReduceOp::mean : ReduceOp::sum,
                      Tensor::scalar(value), head[2]});
    at += static_cast<size_t>(head[0]);
  }
  return logged;
}

std::vector<std::vector<LoggedValue>> logged_by_all(StrategyNode& strategy,
                                                    const std::vector<std::vector<LoggedValue>>& here) {
  Tensors own;
  for (const auto& of_replica : here) own.push_back(packed(of_replica));
  std::vector<std::vector<LoggedValue>> all;
  for (const Tensor& of_replica : strategy.processes()->all_values(own, "what a step logs"))
    all.push_back(unpacked(of_replica));
  return all;
}

}  // namespace

// How many values each replica logged travels with the sums: mostly there are none.
void gather_sums(StrategyNode& strategy, EpochSums& sums) {
  Tensors own;
  for (size_t i = 0; i < sums.of_replicas.size(); ++i) {
    std::vector<double> numbers = sums.of_replicas[i].to_vector<double>();
    numbers.push_back(static_cast<double>(sums.logged[i].size()));
    own.push_back(Tensor::from(numbers));
  }
  bool logs = false;
  sums.of_all.clear();
  for (const Tensor& of_replica : of_all_replicas(strategy, own)) {
    std::vector<double> numbers = of_replica.to_vector<double>();
    logs = logs || numbers.back() > 0;
    numbers.pop_back();
    sums.of_all.push_back(Tensor::from(numbers));
  }
  sums.logged_of_all.clear();
  if (logs) sums.logged_of_all = logged_by_all(strategy, sums.logged);
}

Tensor rows_of_all(StrategyNode& strategy, const Tensor& own) {
  ProcessExchange* const processes = strategy.processes();
  return processes ? ops::concatenate(processes->all_values({own}, "outputs"), 0) : own;
}

namespace {

/// What replicas counted stays with them: the variable's value is the sum of its copies.
void assign_parts(const Variable& variable, const Tensors& values) {
  for (size_t index = 0; index < values.size(); ++index) {
    const ScopedValue<int> its_copy(thread_context().update_replica, static_cast<int>(index));
    variable.assign(values[index]);
  }
}

Tensors values_of(const std::vector<Call>& calls, size_t assignment) {
  Tensors values;
  for (const Call& call : calls) values.push_back(call.assignments().at(assignment).second);
  return values;
}

void assign_here(StrategyNode& strategy, const Variable& variable, const Tensors& values) {
  if (variable.aggregation() == Aggregation::only_first_replica || values.size() == 1)
    variable.assign(values[0]);
  else
    variable.assign(strategy.reduce(ReduceOp::mean, values));
}

/// What this process adds to the value of all, flat and in host memory.
Tensor summand(const Variable& variable, const Tensors& values, int first_replica) {
  const bool mean = variable.aggregation() != Aggregation::only_first_replica;
  const Tensor sum = Tensor::zeros(values[0].shape(), values[0].dtype(), Device{});
  if (mean || first_replica == 0)
    for (size_t i = 0; i < (mean ? values.size() : 1); ++i)
      sum.copy_from(i == 0 ? values[0] : ops::add(sum, values[i].to(Device{})));
  return sum.with_shape({sum.num_elements()});
}

struct Assigned {
  Variable variable;
  Tensor sum;
};

void assign_sums(ProcessExchange& processes, const std::vector<Assigned>& all) {
  Tensors parts;
  for (const Assigned& one : all) parts.push_back(one.sum);
  const Tensor flat = parts.size() == 1 ? parts[0] : ops::concatenate(parts, 0);
  processes.all_reduce_sum(flat, "the state of layers");
  int64_t first = 0;
  for (const auto& [variable, sum] : all) {
    const Tensor value = flat.rows(first, sum.num_elements()).with_shape(variable.shape());
    first += sum.num_elements();
    const bool mean = variable.aggregation() != Aggregation::only_first_replica;
    variable.assign(mean ? mean_of_sum(value, processes.num_replicas()) : value);
  }
}

}  // namespace

void apply_assignments(StrategyNode& strategy, const std::vector<Call>& calls) {
  ProcessExchange* const processes = strategy.processes();
  std::map<DType, std::vector<Assigned>> by_dtype;
  for (size_t i = 0; i < calls[0].assignments().size(); ++i) {
    const auto& [variable, first] = calls[0].assignments()[i];
    if (calls.size() == 1 && !processes) {
      variable.assign(first);
      continue;
    }
    const Tensors values = values_of(calls, i);
    if (variable.aggregation() == Aggregation::sum && strategy.num_replicas_in_sync() > 1)
      assign_parts(variable, values);
    else if (!processes)
      assign_here(strategy, variable, values);
    else
      by_dtype[variable.dtype()].push_back({variable, summand(variable, values, processes->first_replica())});
  }
  for (const auto& [dtype, all] : by_dtype) assign_sums(*processes, all);
}

}  // namespace nyala
