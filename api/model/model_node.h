#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/layers/layer.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

struct TrainingState;

/// What a Model handle shares. Derive to write a model by subclassing: `track` its layers, override `call`.
class ModelNode : public LayerNode, public ParameterOwner {
 public:
  /// Belongs to the strategy whose scope is open.
  ModelNode();
  ~ModelNode() override;

  std::string class_name() const override { return "Model"; }
  /// Subclassed models are built by running call() on shells: layers that they call must be tracked.
  using LayerNode::build;
  void build(Builder& builder, const Shapes& inputs) override;

  Variables variables() const override;
  /// Keras' model.layers.
  virtual std::vector<Layer> layers() const;
  /// Names of the outputs, for losses, metrics and history; made up where the model has none.
  virtual std::vector<std::string> output_names(size_t num_outputs) const;
  virtual std::vector<std::string> input_names() const { return {}; }
  /// The shapes the model was made for, or none where it takes any.
  virtual Shapes input_shapes() const { return {}; }
  virtual size_t num_inputs() const { return 1; }

  const std::shared_ptr<StrategyNode>& strategy() const { return strategy_; }
  /// What compile and fit know; null before compile.
  std::shared_ptr<TrainingState> training;
  bool stop_training = false;

  /// Throws StateError for a variable that was made outside the model's strategy. For built models; looks
  /// only once.
  void check_variables();

 private:
  std::shared_ptr<StrategyNode> strategy_;
  std::atomic<bool> variables_are_checked_{false};
};

}  // namespace nyala
