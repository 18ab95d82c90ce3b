#pragma once

#include <functional>

#include <nyala/api/metrics/metric.h>

namespace nyala::metrics {

struct ConfusionMetricOptions {
  std::string class_name;
  std::vector<double> thresholds;  // empty: 0.5, with top_k any score
  int64_t top_k = 0;               // 0: all
  int64_t class_id = -1;           // -1: all
  std::string name;                // empty: automatic
  bool missed = false;             // compare with false negatives instead of false positives
  std::function<void(FieldVisitor&)> fields;
};

/// true positives / (true positives + the others), for each threshold. Throws InvalidArgumentError for
/// thresholds outside [0, 1] and a negative top_k or class_id.
std::shared_ptr<const MetricNode> make_confusion_metric(ConfusionMetricOptions options);

}  // namespace nyala::metrics
