#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/api/losses/loss.h>
#include <nyala/api/metrics/base/metric_sums.h>
#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// A metric whose state is a tensor of float64 sums: replicas add theirs, so any number of replicas gives one
/// device's result. Stateless itself; MetricSums holds the state. Derive to write one; StatefulMetric is the
/// base for a state that is more than sums.
class MetricNode {
 public:
  virtual ~MetricNode() = default;
  virtual std::string class_name() const = 0;
  virtual std::string name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  /// Number of sums that the metric keeps.
  virtual int64_t state_size() const = 0;
  /// For a metric whose number of sums depends on the shapes of targets and predictions (their first size may
  /// be None): the same metric for these shapes. Null: it does not.
  virtual std::shared_ptr<const MetricNode> for_shapes(const Shape&, const Shape&) const { return nullptr; }
  /// What one batch adds to the sums: a float64 tensor (state_size()). `sample_weight` may be undefined.
  /// Computed on the device, nothing is read by the host. Metrics of plain values (Mean) take them as y_true
  /// and leave y_pred undefined.
  virtual Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const = 0;
  /// The metric's value from the sums, on the host.
  virtual double result(const std::vector<double>& sums) const = 0;

  /// The state before the first batch: zeros.
  virtual std::vector<double> initial_state() const;
  /// Takes a batch into `state`, a float64 tensor (state_size()) on the batch's device: adds update() to it.
  virtual void update_state(const Tensor& state, const Tensor& y_true, const Tensor& y_pred,
                            const Tensor& sample_weight) const;
  /// The states of all replicas as one: their sum. There is at least one.
  virtual std::vector<double> merged(const std::vector<std::vector<double>>& states) const;
  /// What replica `replica` goes on with after `state` was merged and stored: the first one with all of it.
  virtual std::vector<double> share_of(const std::vector<double>& state, int replica) const;
  /// The loss or function whose mean it is, or null.
  virtual const Loss* loss() const { return nullptr; }

  /// All values of a metric that has several (one per threshold); result() is the first.
  virtual std::vector<double> results(const std::vector<double>& sums) const { return {result(sums)}; }
  /// True if a larger value is better, for callbacks with mode "auto".
  virtual bool larger_is_better() const { return false; }
  /// False if nobody can say which way is better: mode "auto" is an error then.
  virtual bool has_direction() const { return true; }
};

/// What a metric that is a function may say about it.
struct FunctionMetricConfig {
  std::string name = {};  // empty: that of register_serializable(), or "metric"
  /// False where the function is no mean over rows, each for itself (a largest error, an F-score): then it is
  /// given the whole batch, also under several replicas, and every batch counts alike, as in Keras.
  bool rows_are_independent = true;
};

/// A handle on a metric: a name ("accuracy", "mae"), an object, a loss, or a function of (y_true, y_pred)
/// whose mean is taken: unlike a loss it sees y_true and y_pred in their own dtypes (as in Keras; floats of
/// 16 bits as float32), and a scalar counts by the rows that the function saw, or by their weights. Also
/// usable alone: update_state, result, reset_state (as Keras' metrics).
class Metric {
 public:
  using Function = LossFunction;

  Metric() = default;
  /// "accuracy"/"acc" and "crossentropy"/"ce" stay unresolved until compile sees the shapes. Also what
  /// register_serializable() named. Throws InvalidArgumentError for an unknown name.
  Metric(const char* name) : Metric(std::string(name)) {}
  Metric(const std::string& name);
  /// `Metric(largest_error, {.rows_are_independent = false})`. Replicas that update it come all.
  Metric(Function function, const FunctionMetricConfig& config);
  /// `Metric(share_below, "share")`. A template, so that braces mean the configuration.
  template <class Name>
  requires(std::is_convertible_v<Name, std::string>) Metric(Function function, Name&& name)
      : Metric(std::move(function), FunctionMetricConfig{.name = std::forward<Name>(name)}) {}
  template <class F>
  requires(!std::derived_from<std::remove_cvref_t<F>, Metric> &&
           !std::derived_from<std::remove_cvref_t<F>, Loss> &&
           std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>) Metric(F&& function)
      : Metric(Function(std::forward<F>(function)), FunctionMetricConfig{}) {}
  Metric(std::shared_ptr<const MetricNode> node);
  /// The mean of a loss' per-sample values, by sample weight.
  Metric(const Loss& loss);

  explicit operator bool() const { return node_ != nullptr || !pending_.empty(); }
  /// Keras' display name: the user's string where one was given.
  std::string name() const { return name_.empty() ? node().name() : name_; }
  bool is_pending() const { return !node_ && !pending_.empty(); }
  /// A metric that depends on shapes (pending or MetricNode::for_shapes) made definite from those of its
  /// first batch.
  Metric resolved(const Shape& y_true, const Shape& y_pred) const;
  /// Throws StateError for an empty handle, as everything but `bool` does, and for a pending one.
  const MetricNode& node() const {
    return detail::held(node_, "Metric",
                        "give a name, an object or a function (\"accuracy\" waits for shapes)");
  }
  Metric renamed(std::string name) const;
  /// The same metric with this state, apart from what other handles count.
  Metric with_sums(const std::vector<double>& sums) const;

  /// Inside Strategy::run every replica adds what it sees; read it outside, or on all replicas together.
  /// Throws StateError for a pending metric without y_pred.
  void update_state(const Tensor& y_true, const Tensor& y_pred = {}, const Tensor& sample_weight = {}) const;
  double result() const;
  /// One value per threshold, where there are several.
  std::vector<double> results() const;
  void reset_state() const;
  /// What result() is made of, for files.
  MetricSums& sums() const { return *sums_; }

 protected:
  std::shared_ptr<const MetricNode> node_;
  std::shared_ptr<MetricSums> sums_ = std::make_shared<MetricSums>();
  std::string name_;  // empty: the node's
  std::string pending_;
};

}  // namespace nyala
