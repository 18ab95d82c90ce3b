#include <algorithm>
#include <cctype>

#include <nyala/api/metrics/all.h>
#include <nyala/api/metrics/metric.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

const NameTable<Metric>& names() {
  static const NameTable<Metric> table("metric", metrics::Metrics{},
                                       {{"bce", "BinaryCrossentropy"},
                                        {"BCE", "BinaryCrossentropy"},
                                        {"mae", "MeanAbsoluteError"},
                                        {"MAE", "MeanAbsoluteError"},
                                        {"mse", "MeanSquaredError"},
                                        {"MSE", "MeanSquaredError"}});
  return table;
}

/// What needs the shapes of a batch to be definite: "accuracy", "crossentropy", or "".
std::string pending_kind(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "accuracy" || name == "acc") return "accuracy";
  if (name == "crossentropy" || name == "ce") return "crossentropy";
  return "";
}

Metric definite(bool accuracy, TargetKind kind) {
  switch (kind) {
    case TargetKind::binary:
      return accuracy ? Metric(metrics::BinaryAccuracy()) : metrics::BinaryCrossentropy();
    case TargetKind::sparse:
      return accuracy ? Metric(metrics::SparseCategoricalAccuracy())
                      : metrics::SparseCategoricalCrossentropy();
    default:
      return accuracy ? Metric(metrics::CategoricalAccuracy()) : metrics::CategoricalCrossentropy();
  }
}

}  // namespace

Metric::Metric(const std::string& name) : pending_(pending_kind(name)) {
  if (pending_.empty()) *this = names().make(name);
  name_ = name;
}

Metric::Metric(Function function, std::string name)
    : node_(metrics::make_loss_metric(Loss(std::move(function), name), "MeanMetricWrapper", name, false)) {}

Metric::Metric(std::shared_ptr<const MetricNode> node) : node_(std::move(node)) {}

Metric::Metric(const Loss& loss)
    : node_(metrics::make_loss_metric(loss, loss.node().class_name(), loss.name())) {}

Metric Metric::resolved(const Shape& y_true, const Shape& y_pred) const {
  if (!is_pending()) return *this;
  Metric metric = definite(pending_ == "accuracy", target_kind(y_true, y_pred));
  metric.name_ = name_;
  metric.sums_ = sums_;
  return metric;
}

Metric Metric::renamed(std::string name) const {
  Metric metric = *this;
  metric.name_ = std::move(name);
  return metric;
}

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  if (is_pending()) {
    if (!y_pred.defined()) throw StateError("metric '" + name_ + "' needs y_true and y_pred");
    *this = resolved(y_true.shape(), y_pred.shape());
  }
  const std::vector<double> added = node_->update(y_true, y_pred, sample_weight).to_vector<double>();
  sums_->resize(added.size());
  for (size_t i = 0; i < added.size(); ++i) (*sums_)[i] += added[i];
}

std::vector<double> Metric::results() const {
  if (is_pending()) return {0.0};
  std::vector<double> sums = *sums_;
  sums.resize(static_cast<size_t>(node_->state_size()));
  return node_->results(sums);
}

double Metric::result() const { return results().front(); }

void Metric::reset_state() { sums_->clear(); }

}  // namespace nyala
