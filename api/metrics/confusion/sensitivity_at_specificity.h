#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

struct SensitivityAtSpecificityConfig {
  double specificity = kNoValue;  // required
  int64_t num_thresholds = 200;
  int64_t class_id = kNoClass;  // kNoClass: all
  std::string name = {};        // empty: automatic

  void fields(FieldVisitor& v);
};

/// The best sensitivity at a threshold where the specificity is at least the given one, 0 where there is
/// none; with num_thresholds thresholds from 0 to 1.
class SensitivityAtSpecificity : public Metric {
 public:
  using Config = SensitivityAtSpecificityConfig;
  /// Throws InvalidArgumentError for a specificity outside [0, 1] and num_thresholds < 1.
  explicit SensitivityAtSpecificity(const Config& config = {});
  template <size_t N>
  explicit SensitivityAtSpecificity(const NoSuchField (&)[N]) = delete;
  explicit SensitivityAtSpecificity(double specificity, Config config = {});
  template <size_t N>
  explicit SensitivityAtSpecificity(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
