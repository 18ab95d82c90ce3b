#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct CategoricalCrossentropyConfig {
  std::string name = "categorical_crossentropy";
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::CategoricalCrossentropy over samples, by weight.
class CategoricalCrossentropy : public Metric {
 public:
  using Config = CategoricalCrossentropyConfig;
  explicit CategoricalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit CategoricalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
