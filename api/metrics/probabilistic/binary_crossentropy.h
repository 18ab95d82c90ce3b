#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct BinaryCrossentropyConfig {
  std::string name = "binary_crossentropy";
  bool from_logits = false;
  double label_smoothing = 0.0;

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::BinaryCrossentropy over samples, by weight.
class BinaryCrossentropy : public Metric {
 public:
  using Config = BinaryCrossentropyConfig;
  explicit BinaryCrossentropy(const Config& config = {});
  template <size_t N>
  explicit BinaryCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
