#pragma once

#include <vector>

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct BinaryIoUConfig {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;
  std::string name = {};  // empty: automatic

  void fields(FieldVisitor& v);
};

/// IoU of the two classes 0 and 1, predicted as 1 where y_pred >= threshold. Weights are cut to whole
/// numbers, as in Keras.
class BinaryIoU : public Metric {
 public:
  using Config = BinaryIoUConfig;
  /// Throws InvalidArgumentError for target classes other than 0 and 1.
  explicit BinaryIoU(const Config& config = {});
  template <size_t N>
  explicit BinaryIoU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
