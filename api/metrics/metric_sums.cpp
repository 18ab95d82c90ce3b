#include <nyala/api/metrics/metric_sums.h>

#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

namespace {

size_t replica_index() {
  const Collectives* const replica = thread_context().replica;
  return replica ? static_cast<size_t>(replica->replica_id()) : 0;
}

}  // namespace

void MetricSums::add(const Tensor& values) {
  const size_t index = replica_index();
  const std::lock_guard lock(mutex_);
  if (index >= parts_.size()) parts_.resize(index + 1);
  Tensor& part = parts_[index];
  if (!part.defined()) {
    part = values.clone();
    return;
  }
  const Tensor here = values.detached().to(part.device());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&here}, part);
}

std::vector<double> MetricSums::read(int64_t count) const {
  Tensors parts;
  Collectives* const replica = thread_context().replica;
  {
    const std::lock_guard lock(mutex_);
    parts = parts_;
  }
  if (replica) {
    const size_t index = replica_index();
    const Tensor own = index < parts.size() && parts[index].defined()
                           ? parts[index]
                           : Tensor::zeros({count}, DType::float64, thread_context().device);
    parts = {replica->all_reduce_sum(own)};
  }
  std::vector<double> sums(static_cast<size_t>(count), 0.0);
  for (const Tensor& part : parts) {
    if (!part.defined()) continue;
    const std::vector<double> values = part.to_vector<double>();
    for (size_t i = 0; i < values.size() && i < sums.size(); ++i) sums[i] += values[i];
  }
  return sums;
}

void MetricSums::clear() {
  const std::lock_guard lock(mutex_);
  parts_.clear();
}

std::shared_ptr<const MetricNode> MetricSums::node(
    const std::function<std::shared_ptr<const MetricNode>()>& make) {
  const std::lock_guard lock(mutex_);
  if (!node_) node_ = make();
  return node_;
}

}  // namespace nyala
