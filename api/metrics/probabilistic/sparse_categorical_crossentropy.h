#pragma once

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct SparseCategoricalCrossentropyConfig {
  std::string name = "sparse_categorical_crossentropy";
  bool from_logits = false;
  int64_t ignore_class = kNoClass;
  int64_t axis = -1;

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::SparseCategoricalCrossentropy over samples, by weight.
class SparseCategoricalCrossentropy : public Metric {
 public:
  using Config = SparseCategoricalCrossentropyConfig;
  explicit SparseCategoricalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit SparseCategoricalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
