#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

struct SpecificityAtSensitivityConfig {
  double sensitivity = kNoValue;  // required
  int64_t num_thresholds = 200;
  int64_t class_id = kNoClass;  // kNoClass: all
  std::string name = {};        // empty: automatic

  void fields(FieldVisitor& v);
};

/// The best specificity at a threshold where the sensitivity is at least the given one, 0 where there is
/// none; with num_thresholds thresholds from 0 to 1.
class SpecificityAtSensitivity : public Metric {
 public:
  using Config = SpecificityAtSensitivityConfig;
  /// Throws InvalidArgumentError for a sensitivity outside [0, 1] and num_thresholds < 1.
  explicit SpecificityAtSensitivity(const Config& config = {});
  template <size_t N>
  explicit SpecificityAtSensitivity(const NoSuchField (&)[N]) = delete;
  explicit SpecificityAtSensitivity(double sensitivity, Config config = {});
  template <size_t N>
  explicit SpecificityAtSensitivity(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
