#pragma once

#include <vector>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct OneHotIoUConfig {
  int64_t num_classes = 0;                     // required
  std::vector<int64_t> target_class_ids = {};  // required
  int64_t ignore_class = kNoClass;             // kNoClass: none
  bool sparse_y_pred = false;                  // class numbers; else scores along `axis`
  int64_t axis = -1;
  std::string name = {};  // empty: automatic

  void fields(FieldVisitor& v);
};

/// IoU of one-hot targets and of scores (or, with sparse_y_pred, class numbers). Pairs with numbers outside
/// [0, num_classes) do not count. Weights are cut to whole numbers, as in Keras.
class OneHotIoU : public Metric {
 public:
  using Config = OneHotIoUConfig;
  /// Throws InvalidArgumentError for target classes outside [0, num_classes).
  explicit OneHotIoU(const Config& config = {});
  template <size_t N>
  explicit OneHotIoU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
