#pragma once

#include <vector>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct OneHotMeanIoUConfig {
  int64_t num_classes = 0;          // required
  int64_t ignore_class = kNoClass;  // kNoClass: none
  bool sparse_y_pred = false;       // class numbers; else scores along `axis`
  int64_t axis = -1;
  std::string name = {};  // empty: automatic

  void fields(FieldVisitor& v);
};

/// IoU of all classes for one-hot targets and scores (or, with sparse_y_pred, class numbers). Pairs with
/// numbers outside [0, num_classes) do not count. Weights are cut to whole numbers, as in Keras.
class OneHotMeanIoU : public Metric {
 public:
  using Config = OneHotMeanIoUConfig;
  /// Throws InvalidArgumentError for num_classes < 0.
  explicit OneHotMeanIoU(const Config& config = {});
  template <size_t N>
  explicit OneHotMeanIoU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
