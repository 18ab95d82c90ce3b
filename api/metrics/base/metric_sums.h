#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

class MetricNode;
class ProcessExchange;

/// The state of a metric, one part per replica that updates it: parts are merged when they are read, so that
/// a metric may be used inside Strategy::run and read outside. Those of other processes come at the end of a
/// model's step; what is updated elsewhere is asked for when it is read. Thread-safe.
class MetricSums {
 public:
  /// Takes a batch into the part of the replica that this thread is, without waiting for its device. A part
  /// lies on the device of y_true.
  void update(const MetricNode& metric, const Tensor& y_true, const Tensor& y_pred,
              const Tensor& sample_weight);
  /// Makes `state` the only part.
  void set(const std::vector<double>& state);
  /// All parts as one. Inside a replica all replicas have to ask, and all processes where other than a
  /// model's steps updated it; they get the same.
  std::vector<double> read(const MetricNode& metric) const;
  void clear();
  /// The state as it stands, replica by replica; nothing where there was no batch yet.
  std::vector<std::vector<double>> parts(const MetricNode& metric) const;
  /// Goes on from there. `place` names the device of each replica's part; on another number of replicas the
  /// first one takes all that `metric` makes of them.
  void set_parts(const MetricNode& metric, const std::vector<std::vector<double>>& parts,
                 const std::vector<Device>& places);
  /// The metric that the state belongs to: what `make` returned first, where that was not null.
  std::shared_ptr<const MetricNode> node(const std::function<std::shared_ptr<const MetricNode>()>& make);

 private:
  mutable Mutex mutex_;
  /// The parts of this process' replicas, an initial state where one had no batch.
  Tensors local_parts(const MetricNode& metric) const;

  std::shared_ptr<const MetricNode> node_;
  Tensors parts_;
  /// Set where parts of other processes are missing here.
  std::weak_ptr<ProcessExchange> others_;
  size_t first_local_ = 0, num_local_ = 0;
};

}  // namespace nyala
