#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/losses/loss.h>
#include <nyala/api/metrics/metric.h>
#include <nyala/api/optimizers/optimizer.h>

namespace nyala {

/// Values for the outputs of a model: one for all, one per output in order, or by output name.
template <class T>
class PerOutput {
 public:
  PerOutput() = default;
  PerOutput(T value) : list_{std::move(value)} {}
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, PerOutput>) PerOutput(U&& value)
      : list_{T(std::forward<U>(value))} {}
  PerOutput(std::initializer_list<T> list) : list_(list) {}
  PerOutput(std::initializer_list<std::pair<const std::string, T>> named) : named_(named) {}

  bool empty() const { return list_.empty() && named_.empty(); }
  const std::vector<T>& list() const { return list_; }
  const std::map<std::string, T>& named() const { return named_; }

 private:
  std::vector<T> list_;
  std::map<std::string, T> named_;
};

/// What compile takes, in Keras' order.
struct CompileConfig {
  Optimizer optimizer = "rmsprop";
  PerOutput<Loss> loss = {};
  PerOutput<double> loss_weights = {};
  /// A flat list belongs to the only output; with several outputs, entry i to output i. By name: lists.
  PerOutput<Metric> metrics = {};
  PerOutput<Metric> weighted_metrics = {};
  /// Metrics by output name, several each.
  std::map<std::string, std::vector<Metric>> metrics_by_output = {};
  bool run_eagerly = false;
  int64_t steps_per_execution = 1;
};

}  // namespace nyala
