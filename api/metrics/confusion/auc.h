#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

struct AUCConfig {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // "PR", "PRGAIN"
  std::string summation_method = "interpolation";  // "minoring", "majoring"
  std::string name = {};                           // empty: automatic
  std::vector<double> thresholds = {};             // empty: num_thresholds even ones; else with 0 and 1 added
  bool multi_label = false;
  int64_t num_labels = 0;                  // 0: those of y_pred
  std::vector<double> label_weights = {};  // empty: all 1
  bool from_logits = false;

  void fields(FieldVisitor& v);
};

/// The area under a curve through the points at all thresholds: true positive rate over false positive rate
/// (ROC), precision over recall (PR), or precision gain over recall gain (PRGAIN). y_pred lies in [0, 1], or
/// holds logits. Heights are averaged ("interpolation"; precision between two points is interpolated after
/// Davis and Goadrich, 2006), or the smaller ("minoring") or larger ones ("majoring") taken. multi_label: the
/// mean over the areas of the labels (the last axis of y_pred, of rank 2), by label_weights; else those are
/// weights of the columns.
class AUC : public Metric {
 public:
  using Config = AUCConfig;
  /// Throws InvalidArgumentError for an unknown curve or summation method, num_thresholds < 2, and num_labels
  /// without multi_label.
  explicit AUC(const Config& config = {});
  template <size_t N>
  explicit AUC(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
