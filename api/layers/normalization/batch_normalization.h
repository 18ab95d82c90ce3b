#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct BatchNormalizationConfig {
  int64_t axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  /// False: the statistics are those of the global batch, whatever the number of replicas. True: each replica
  /// takes those of its own rows, and the moving statistics become their mean. Nyala's own: Keras'
  /// `synchronized` is written as false, its default, and says nothing in files; what this one says they keep
  /// beside the configuration.
  bool per_replica_statistics = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta for each entry of `axis`. In training the statistics
/// are the batch's (variance divided by the number of values), and moving = momentum * moving + (1 -
/// momentum) * batch; otherwise, and while the layer is not trainable, they are the moving ones. Steps that
/// the input's mask leaves out do not count in the batch's statistics, but are normalised by them.
class BatchNormalization : public Layer {
 public:
  using Config = BatchNormalizationConfig;
  /// Throws InvalidArgumentError for a negative epsilon or a momentum outside [0, 1].
  explicit BatchNormalization(const Config& config = {});
  template <size_t N>
  explicit BatchNormalization(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
