#pragma once

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

/// What the metrics of intersection over union have.
struct IouOptions {
  const char* class_name;
  std::string name;                       // empty: automatic
  int64_t num_classes = 0;                // 0: not given, an error when it is used
  std::vector<int64_t> target_class_ids;  // empty: all
  int64_t ignore_class = kNoClass;        // kNoClass: none
  bool sparse_y_true = true;              // class numbers; else scores along `axis`
  bool sparse_y_pred = true;
  int64_t axis = -1;
  double threshold = kNoValue;  // if given, class 1 is y_pred >= threshold
  std::function<void(FieldVisitor&)> fields;
};

namespace detail {

/// The mean over the target classes that occur of: pairs where target and prediction are this class, divided
/// by those where one of them is. Weights are cut to whole numbers, as in Keras. Throws InvalidArgumentError
/// for target classes outside [0, num_classes).
Metric make_iou(IouOptions options);

}  // namespace detail

}  // namespace nyala::metrics
