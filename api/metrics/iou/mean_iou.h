#pragma once

#include <vector>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanIoUConfig {
  int64_t num_classes = 0;          // required
  int64_t ignore_class = kNoClass;  // kNoClass: none
  bool sparse_y_true = true;        // class numbers; else one-hot or scores along `axis`
  bool sparse_y_pred = true;        // the same of y_pred
  int64_t axis = -1;
  std::string name = {};  // empty: automatic

  void fields(FieldVisitor& v);
};

/// IoU of all classes. Pairs with numbers outside
/// [0, num_classes) do not count. Weights are cut to whole numbers, as in Keras.
class MeanIoU : public Metric {
 public:
  using Config = MeanIoUConfig;
  /// Throws InvalidArgumentError for num_classes < 0.
  explicit MeanIoU(const Config& config = {});
  template <size_t N>
  explicit MeanIoU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
