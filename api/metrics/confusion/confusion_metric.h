#pragma once

#include <functional>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/backend/ops/reduction/confusion_updates.h>

namespace nyala::metrics {

/// Predictions counted by weight, at one threshold.
struct ConfusionCounts {
  double true_positives = 0.0;
  double false_positives = 0.0;
  double true_negatives = 0.0;
  double false_negatives = 0.0;

  double precision() const;
  /// Also called sensitivity.
  double recall() const;
  double specificity() const;
};

/// Counts at every threshold.
using ConfusionCurve = std::vector<ConfusionCounts>;

namespace detail {

/// part / whole, 0 where the whole is 0.
double ratio(double part, double whole);

}  // namespace detail

/// What a metric that counts predictions has; every metric of this kind makes one.
struct ConfusionMetricOptions {
  std::string class_name;
  std::string name;                     // empty: automatic
  std::vector<double> thresholds = {};  // empty: 0.5, with top_k any score
  int64_t even_thresholds = 0;          // instead: so many from 0 to 1
  int64_t top_k = 0;                    // 0: all
  int64_t class_id = kNoClass;          // kNoClass: all
  bool has_direction = true;            // larger is better
  std::string missing = {};             // a required option that was not given: an error when it is used
  std::function<std::vector<double>(const ConfusionCurve&)> values;
  std::function<void(FieldVisitor&)> fields;
};

/// One value per threshold.
std::function<std::vector<double>(const ConfusionCurve&)> at_each(
    std::function<double(const ConfusionCounts&)> value);

namespace detail {

/// Keras' rule for lists that are treated as i / (n - 1).
bool evenly_distributed(const std::vector<double>& thresholds);

}  // namespace detail

/// Counts predictions at some thresholds; the sums of ops::confusion_update.
class ConfusionMetricNode : public MetricNode {
 public:
  /// Throws InvalidArgumentError for thresholds outside [0, 1] and a negative top_k or class_id.
  explicit ConfusionMetricNode(ConfusionMetricOptions options);
  std::string class_name() const override { return options_.class_name; }
  std::string name() const override { return name_.get(); }
  void fields(FieldVisitor& v) const override { options_.fields(v); }
  bool larger_is_better() const override { return options_.has_direction; }
  bool has_direction() const override { return options_.has_direction; }
  int64_t state_size() const override { return num_thresholds() * ops::kConfusionCounts; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override;
  double result(const std::vector<double>& sums) const override { return results(sums).front(); }
  std::vector<double> results(const std::vector<double>& sums) const override;

 protected:
  int64_t num_thresholds() const;
  /// The sums of a batch; `shared` says what is counted, thresholds are filled in.
  Tensor counts(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                ops::ConfusionDescriptor shared) const;
  const ConfusionMetricOptions& options() const { return options_; }

 private:
  ConfusionMetricOptions options_;
  AutomaticName name_;
};

/// Precision and Recall: the same options.
struct PrecisionRecallConfig {
  std::vector<double> thresholds = {};  // empty: 0.5, with top_k any score
  int64_t top_k = 0;                    // 0: all
  int64_t class_id = kNoClass;          // kNoClass: all
  std::string name = {};                // empty: automatic

  void fields(FieldVisitor& v);
};

namespace detail {

Metric make_precision_recall(const char* class_name, const PrecisionRecallConfig& config,
                             double (ConfusionCounts::*value)() const);

}  // namespace detail

/// TruePositives and the like.
struct ConfusionCountConfig {
  std::vector<double> thresholds = {};  // empty: 0.5
  std::string name = {};                // empty: automatic

  void fields(FieldVisitor& v);
};

namespace detail {

Metric make_confusion_count(const char* class_name, const ConfusionCountConfig& config,
                            double ConfusionCounts::*count);

}  // namespace detail

/// SensitivityAtSpecificity and the like: the largest `wanted` among the thresholds where `bounded` >= bound.
struct BestUnderBound {
  const char* class_name;
  const char* bound_name;
  double bound;  // kNoValue: not given
  int64_t num_thresholds;
  int64_t class_id;
  std::string name;
  double (ConfusionCounts::*bounded)() const;
  double (ConfusionCounts::*wanted)() const;
  std::function<void(FieldVisitor&)> fields;
};

namespace detail {

/// Throws InvalidArgumentError for a bound outside [0, 1] and num_thresholds < 1.
Metric make_best_under_bound(BestUnderBound options);

}  // namespace detail

}  // namespace nyala::metrics
