#pragma once

#include <vector>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct IoUConfig {
  int64_t num_classes = 0;                     // required
  std::vector<int64_t> target_class_ids = {};  // required
  int64_t ignore_class = kNoClass;             // kNoClass: none
  bool sparse_y_true = true;                   // class numbers; else one-hot or scores along `axis`
  bool sparse_y_pred = true;                   // the same of y_pred
  int64_t axis = -1;
  std::string name = {};  // empty: automatic

  void fields(FieldVisitor& v);
};

/// The mean over the classes in target_class_ids (those that occur) of: pairs where y_true and y_pred are
/// this class, divided by those where one of them is. Pairs with numbers outside [0, num_classes) do not
/// count. Weights are cut to whole numbers, as in Keras.
class IoU : public Metric {
 public:
  using Config = IoUConfig;
  /// Throws InvalidArgumentError for target classes outside [0, num_classes).
  explicit IoU(const Config& config = {});
  template <size_t N>
  explicit IoU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
