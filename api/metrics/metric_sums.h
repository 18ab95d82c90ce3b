#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

class MetricNode;

/// The sums of a metric, one part per replica that updates it: parts are added when they are read, so that a
/// metric may be used inside Strategy::run and read outside. Thread-safe.
class MetricSums {
 public:
  /// Adds a float64 vector to the part of the replica that this thread is, without waiting for its device.
  void add(const Tensor& values);
  /// The sum of all parts, `count` numbers. Inside a replica all replicas have to ask; they get the same.
  std::vector<double> read(int64_t count) const;
  void clear();
  /// The metric that the sums belong to: what `make` returned first, where that was not null.
  std::shared_ptr<const MetricNode> node(const std::function<std::shared_ptr<const MetricNode>()>& make);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const MetricNode> node_;
  Tensors parts_;
};

}  // namespace nyala
