#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

struct RecallAtPrecisionConfig {
  double precision = kNoValue;  // required
  int64_t num_thresholds = 200;
  int64_t class_id = kNoClass;  // kNoClass: all
  std::string name = {};        // empty: automatic

  void fields(FieldVisitor& v);
};

/// The best recall at a threshold where the precision is at least the given one, 0 where there is none;
/// with num_thresholds thresholds from 0 to 1.
class RecallAtPrecision : public Metric {
 public:
  using Config = RecallAtPrecisionConfig;
  /// Throws InvalidArgumentError for a precision outside [0, 1] and num_thresholds < 1.
  explicit RecallAtPrecision(const Config& config = {});
  template <size_t N>
  explicit RecallAtPrecision(const NoSuchField (&)[N]) = delete;
  explicit RecallAtPrecision(double precision, Config config = {});
  template <size_t N>
  explicit RecallAtPrecision(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
