#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

struct PrecisionAtRecallConfig {
  double recall = kNoValue;  // required
  int64_t num_thresholds = 200;
  int64_t class_id = kNoClass;  // kNoClass: all
  std::string name = {};        // empty: automatic

  void fields(FieldVisitor& v);
};

/// The best precision at a threshold where the recall is at least the given one, 0 where there is none;
/// with num_thresholds thresholds from 0 to 1.
class PrecisionAtRecall : public Metric {
 public:
  using Config = PrecisionAtRecallConfig;
  /// Throws InvalidArgumentError for a recall outside [0, 1] and num_thresholds < 1.
  explicit PrecisionAtRecall(const Config& config = {});
  template <size_t N>
  explicit PrecisionAtRecall(const NoSuchField (&)[N]) = delete;
  explicit PrecisionAtRecall(double recall, Config config = {});
  template <size_t N>
  explicit PrecisionAtRecall(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
