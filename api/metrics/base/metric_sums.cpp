#include <nyala/api/metrics/base/metric_sums.h>

#include <nyala/api/metrics/base/metric.h>
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

}  // namespace

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

Tensors MetricSums::local_parts(const MetricNode& metric) const {
  Tensors local;
  for (size_t i = first_local_; i < first_local_ + num_local_; ++i)
    local.push_back(i < parts_.size() && parts_[i].defined() ? parts_[i]
                                                             : Tensor::from(metric.initial_state()));
  return local;
}

std::vector<double> MetricSums::read(const MetricNode& metric) const {
  Tensors parts;
  std::shared_ptr<ProcessExchange> others;
  Collectives* const replica = thread_context().replica;
  {
    const std::lock_guard lock(mutex_);
    if (!replica) others = others_.lock();
    parts = others ? local_parts(metric) : parts_;
  }
  if (others) {
    parts = others->all_values(parts, "result() of metric " + in_quotes(metric.name()));
  } else if (replica) {
    const size_t index = replica_index();
    const Tensor own = index < parts.size() && parts[index].defined()
                           ? parts[index]
                           : Tensor::from(metric.initial_state()).to(thread_context().device);
    parts = replica->all_values(own);
  }
  std::vector<std::vector<double>> states;
  for (const Tensor& part : parts)
    if (part.defined()) states.push_back(part.to_vector<double>());
  return states.empty() ? metric.initial_state() : metric.merged(states);
}

void MetricSums::clear() {
  const std::lock_guard lock(mutex_);
  parts_.clear();
  others_.reset();
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
