#include <algorithm>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/metrics/base/values_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

std::vector<double> MetricNode::initial_state() const {
  const auto size = static_cast<size_t>(state_size());
  try {
    return std::vector<double>(size, 0.0);
  } catch (const std::exception&) {  // std::length_error where no vector is so long
    throw_out_of_memory([&] {
      return "metric " + in_quotes(name()) + ": no memory left on the host for a state of " +
             std::to_string(size) + " numbers";
    });
  }
}

void MetricNode::update_state(const Tensor& state, const Tensor& y_true, const Tensor& y_pred,
                              const Tensor& sample_weight) const {
  const Tensor added = ops::cast(update(y_true, y_pred, sample_weight).detached(), DType::float64);
  const Tensor here = added.with_shape(state.shape()).to(state.device());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&here}, state);
}

std::vector<double> MetricNode::merged(const std::vector<std::vector<double>>& states) const {
  std::vector<double> sums(states.front().size(), 0.0);
  for (const std::vector<double>& state : states)
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += state[i];
  return sums;
}

std::vector<double> MetricNode::share_of(const std::vector<double>& state, int replica) const {
  return replica == 0 ? state : initial_state();
}

Metric::Metric(Function function, const FunctionMetricConfig& config) {
  std::string name = config.name;
  if (name.empty()) name = without_package(registered_name_of(function));
  if (name.empty()) name = "metric";
  node_ = metrics::detail::make_loss_metric(
      {.loss = Loss(std::move(function), {.name = name, .rows_are_independent = config.rows_are_independent}),
       .class_name = "MeanMetricWrapper",
       .name = name,
       .direction = metrics::Direction::unknown,
       .casts = false});
  sums_->introduce(node_->class_name(), name);
}

Metric::Metric(std::shared_ptr<const MetricNode> node) : node_(std::move(node)) {
  if (node_) sums_->introduce(node_->class_name());  // the name is made when it is asked for
}

Metric::Metric(const Loss& loss)
    : Metric(metrics::detail::make_loss_metric(
          {.loss = loss, .class_name = loss.node().class_name(), .name = loss.name()})) {}

Metric Metric::renamed(std::string name) const {
  if (!*this) node();
  Metric metric = *this;
  metric.name_ = std::move(name);
  return metric;
}

Metric Metric::with_sums(const std::vector<double>& sums) const {
  if (!*this) node();
  Metric metric = *this;
  metric.sums_ = std::make_shared<MetricSums>();
  metric.sums_->set(sums);
  return metric;
}

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  if (!*this) node();
  if (is_pending() && !y_pred.defined())
    throw StateError("metric " + in_quotes(name_) + " needs y_true and y_pred");
  const auto node =
      sums_->node([&] { return y_pred.defined() ? resolved(y_true.shape(), y_pred.shape()).node_ : node_; });
  const bool weights_are_second = y_pred.defined() && !sample_weight.defined() &&
                                  dynamic_cast<const metrics::ValuesMetric*>(node.get()) != nullptr;
  sums_->update(*node, at_least_float32(y_true.detached()),
                weights_are_second ? Tensor() : at_least_float32(y_pred.detached()),
                weights_are_second ? y_pred.detached() : sample_weight.detached());
}

std::vector<double> Metric::results() const {
  if (!*this) node();
  // What has seen no batch stays open for its shapes.
  auto node = sums_->node([] { return std::shared_ptr<const MetricNode>(); });
  if (!node) node = node_;
  return sums_->results(node.get());
}

double Metric::result() const {
  const std::vector<double> values = results();
  if (values.size() != 1)
    throw StateError("metric " + in_quotes(name()) + " has " + std::to_string(values.size()) +
                     " values; results() gives them all");
  return values.front();
}

void Metric::reset_state() const {
  if (!*this) node();
  sums_->clear();
}

}  // namespace nyala
