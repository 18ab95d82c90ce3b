#pragma once

namespace nyala::metrics {

/// What marks a metric of plain values (Mean, Sum): `update_state(values, weights)`, as in Keras, is
/// `update_state(values, {}, weights)`.
class ValuesMetric {
 public:
  virtual ~ValuesMetric() = default;
};

}  // namespace nyala::metrics
