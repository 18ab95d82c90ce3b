#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

class MetricNode;
class ProcessExchange;

/// The state of a metric, one part per replica that updates it: parts are merged when they are read, so that
/// a metric may be used inside Strategy::run and read outside. Those of other processes come at the end of a
/// model's step; what is updated elsewhere is asked for when it is read. Thread-safe.
///
/// A metric that was made in the scope of a strategy with other processes, or updated by its replicas, is
/// read by all of these together, whoever has updated it how often. They come with the same metric (its
/// class, name and place among those), after as many calls of reset_state() and result(): else all get
/// CommunicationError.
class MetricSums {
 public:
  /// Called when the metric is made: its class, and its name where that is known before the first batch.
  void introduce(const std::string& class_name, const std::string& name = "");
  /// Takes a batch into the part of the replica that this thread is, without waiting for its device. A part
  /// lies on the device of y_true.
  void update(const MetricNode& metric, const Tensor& y_true, const Tensor& y_pred,
              const Tensor& sample_weight);
  /// Makes `state` the only part.
  void set(const std::vector<double>& state);
  /// The values that `metric` makes of all parts; null: of what has seen no batch and waits for its shapes.
  /// Inside a replica all replicas have to ask, and all processes where other than a model's steps updated
  /// it; they get the same.
  std::vector<double> results(const MetricNode* metric) const;
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
  /// The state of all parts here, or of all replicas inside one.
  std::vector<std::vector<double>> states(const MetricNode& metric) const;
  /// The parts of this process' replicas, an initial state where one had no batch; one without elements where
  /// none has.
  Tensors local_parts(const MetricNode* metric) const;
  /// Who is to be asked, and by what words; null: nobody.
  std::shared_ptr<ProcessExchange> others(std::string& what) const;
  static std::vector<double> results_of_all(ProcessExchange& others, const Tensors& local,
                                            const MetricNode* metric, const std::string& what);

  mutable Mutex mutex_;
  std::shared_ptr<const MetricNode> node_;
  Tensors parts_;
  /// Set where parts of other processes are missing here.
  std::weak_ptr<ProcessExchange> others_;
  /// Those who have parts as long as there are none here.
  std::weak_ptr<ProcessExchange> together_;
  size_t first_local_ = 0, num_local_ = 0;
  std::string class_ = "Metric", name_ = {};
  int64_t resets_ = 0;
  mutable int64_t reads_ = 0;  // together, since the last reset
};

}  // namespace nyala
