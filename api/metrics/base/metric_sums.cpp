#include <nyala/api/metrics/base/metric_sums.h>

#include <algorithm>
#include <map>

#include <nyala/api/metrics/base/metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Among the replicas of all processes: the parts of others come here when a step of a model ends.
size_t replica_index() {
  const Collectives* const replica = thread_context().replica;
  return replica ? static_cast<size_t>(replica->replica_id()) : 0;
}

bool is_in_step() {
  for (const RunningCall* running = thread_context().running; running; running = running->outer)
    if (running->is_step) return true;
  return false;
}

/// Of the strategy whose scope is open; null: there are none.
ProcessExchange* processes_of_scope() {
  const auto* const store = dynamic_cast<const SegmentOwner*>(context_of_open_scopes().creator);
  return store ? store->processes() : nullptr;
}

/// The number of a metric among those of this class, from 1.
int64_t place_among(const std::string& kind) {
  static auto& mutex = *new Mutex(Mutex::AtFork::is_waited);
  static auto& counts = *new std::map<std::string, int64_t>;
  const std::lock_guard lock(mutex);
  return ++counts[kind];
}

}  // namespace

void MetricSums::introduce(const std::string& class_name, const std::string& name) {
  class_ = class_name;
  name_ = name;
  ProcessExchange* const processes = thread_context().replica ? nullptr : processes_of_scope();
  if (!processes) return;
  together_ = processes->weak_from_this();
  class_ += " " + std::to_string(place_among(class_));
}

// Not under the lock where there are replicas: each has a part of its own, and its update may wait for
// others.
void MetricSums::update(const MetricNode& metric, const Tensor& y_true, const Tensor& y_pred,
                        const Tensor& sample_weight) {
  const Collectives* const replica = thread_context().replica;
  const size_t index = replica_index();
  std::unique_lock lock(mutex_);
  if (replica && replica->processes() && !is_in_step()) {
    others_ = replica->processes()->weak_from_this();
    num_local_ = static_cast<size_t>(replica->num_local_replicas());
    first_local_ = index - static_cast<size_t>(replica->local_index());
  }
  if (index >= parts_.size()) parts_.resize(index + 1);
  if (!parts_[index].defined()) parts_[index] = Tensor::from(metric.initial_state()).to(y_true.device());
  const Tensor part = parts_[index];
  if (thread_context().replica) lock.unlock();
  metric.update_state(part, y_true, y_pred, sample_weight);
}

void MetricSums::set(const std::vector<double>& state) {
  const std::lock_guard lock(mutex_);
  parts_ = {Tensor::from(state)};
  others_.reset();
}

Tensors MetricSums::local_parts(const MetricNode* metric) const {
  const auto is_there = [](const Tensor& part) { return part.defined(); };
  if (!metric || std::ranges::none_of(parts_, is_there))
    return {Tensor::empty({0}, DType::float64, Device{})};
  Tensors local;
  for (size_t i = first_local_; i < first_local_ + num_local_; ++i)
    local.push_back(i < parts_.size() && parts_[i].defined() ? parts_[i]
                                                             : Tensor::from(metric->initial_state()));
  return local;
}

std::shared_ptr<ProcessExchange> MetricSums::others(std::string& what) const {
  if (thread_context().replica) return nullptr;
  std::shared_ptr<ProcessExchange> others = others_.lock();
  const bool has_none = std::ranges::none_of(parts_, [](const Tensor& part) { return part.defined(); });
  if (!others && has_none) others = together_.lock();
  if (!others && has_none)
    if (ProcessExchange* const processes = processes_of_scope()) others = processes->shared_from_this();
  if (!others) return nullptr;
  // What differs first: names of calls are cut. Not by the metric's own name, which may become known only
  // when it sees a batch, or be made when it is asked for.
  what = "result() " + std::to_string(++reads_) + " after reset " + std::to_string(resets_) + " of " +
         (name_.empty() ? "" : in_quotes(name_) + " ") + "(" + class_ + ")";
  return others;
}

std::vector<std::vector<double>> MetricSums::states(const MetricNode& metric) const {
  Tensors parts;
  {
    const std::lock_guard lock(mutex_);
    parts = parts_;
  }
  if (Collectives* const replica = thread_context().replica) {
    const size_t index = replica_index();
    const Tensor own = index < parts.size() && parts[index].defined()
                           ? parts[index]
                           : Tensor::from(metric.initial_state()).to(thread_context().device);
    parts = replica->all_values(own, "result() of a metric");
  }
  std::vector<std::vector<double>> states;
  for (const Tensor& part : parts)
    if (part.defined()) states.push_back(part.to_vector<double>());
  return states;
}

namespace {

std::vector<double> values_of(const MetricNode* metric, const std::vector<std::vector<double>>& states) {
  if (!metric) return {0.0};
  return metric->results(states.empty() ? metric->initial_state() : metric->merged(states));
}

}  // namespace

// A process without parts does not know how many sums there are, where that depends on shapes: it is told the
// values.
std::vector<double> MetricSums::results_of_all(ProcessExchange& others, const Tensors& local,
                                               const MetricNode* metric, const std::string& what) {
  const Tensors parts = others.all_values(local, what);
  std::vector<std::vector<double>> states;
  bool all_know = true;
  for (const Tensor& part : parts) {
    if (part.num_elements() == 0) {
      all_know = false;
      continue;
    }
    states.push_back(part.to_vector<double>());
    if (states.back().size() != states[0].size())
      throw CommunicationError(what + ": the replicas have " + std::to_string(states[0].size()) + " and " +
                               std::to_string(states.back().size()) +
                               " sums; all processes have to read the same metric");
  }
  if (all_know || states.empty()) return values_of(metric, states);
  const bool knows = local[0].num_elements() > 0;
  const Tensor own = knows ? Tensor::from(values_of(metric, states)) : local[0];
  for (const Tensor& values : others.all_values({own}, what))
    if (values.num_elements() > 0) return values.to_vector<double>();
  return values_of(metric, states);
}

std::vector<double> MetricSums::results(const MetricNode* metric) const {
  std::shared_ptr<ProcessExchange> asked;
  std::string what;
  Tensors local;
  {
    const std::lock_guard lock(mutex_);
    asked = others(what);
    if (asked) local = local_parts(metric);
  }
  if (asked) return results_of_all(*asked, local, metric, what);
  return metric ? values_of(metric, states(*metric)) : std::vector<double>{0.0};
}

void MetricSums::clear() {
  const std::lock_guard lock(mutex_);
  parts_.clear();
  if (!others_.expired()) together_ = others_;
  others_.reset();
  ++resets_;
  reads_ = 0;
}

std::vector<std::vector<double>> MetricSums::parts(const MetricNode& metric) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<double>> states;
  for (const Tensor& part : parts_)
    states.push_back(part.defined() ? part.to_vector<double>() : metric.initial_state());
  return states;
}

void MetricSums::set_parts(const MetricNode& metric, const std::vector<std::vector<double>>& parts,
                           const std::vector<Device>& places) {
  Tensors moved;
  if (parts.size() > places.size()) {
    moved.push_back(Tensor::from(metric.merged(parts)).to(places.at(0)));
  } else {
    for (size_t i = 0; i < parts.size(); ++i) moved.push_back(Tensor::from(parts[i]).to(places[i]));
  }
  const std::lock_guard lock(mutex_);
  parts_ = std::move(moved);
}

std::shared_ptr<const MetricNode> MetricSums::node(
    const std::function<std::shared_ptr<const MetricNode>()>& make) {
  const std::lock_guard lock(mutex_);
  if (!node_) node_ = make();
  return node_;
}

}  // namespace nyala
