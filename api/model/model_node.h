#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/datasets/base/element.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

class ReplicaStep;
struct CompiledTraining;
struct EpochSums;
struct ModelTraining;
struct ResumePoint;
struct StepMemory;

/// What a Model handle shares. Derive to write a model by subclassing: `track` its layers, override `call`.
class ModelNode : public LayerNode, public Adoptable {
 public:
  /// Belongs to the strategy whose scope is open.
  ModelNode();
  ~ModelNode() override;

  std::string class_name() const override { return "Model"; }
  /// Subclassed models are built by running call() on abstract tensors: layers that they call must be
  /// tracked.
  void build(Builder& builder, const Shapes& inputs) override;

  /// Throws StateError for another policy: its layers have those that they were made with.
  void set_dtype_policy(DTypePolicy policy) override;
  /// What compile() asks for: the policy that a file names.
  void take_dtype_policy(DTypePolicy policy) { policy_ = policy; }

  Variables variables() const override;
  Variables hidden_state() const override;
  /// Keras' model.layers.
  virtual std::vector<Layer> layers() const;
  /// Names of the outputs, for losses, metrics and history; made up where the model has none.
  virtual std::vector<std::string> output_names(size_t num_outputs) const;
  virtual std::vector<std::string> input_names() const { return {}; }
  /// The shapes the model was made for, or none where it takes any.
  virtual Shapes input_shapes() const { return {}; }
  virtual size_t num_inputs() const { return 1; }
  /// The symbolic tensors between which it was traced, or none.
  virtual const Tensors& inputs() const;
  virtual const Tensors& outputs() const { return ModelNode::inputs(); }
  /// Devices besides the strategy's on which its calls run.
  virtual std::vector<Device> placed_devices() const { return {}; }
  /// The model that this one only runs on several devices: it is what files hold and summary() shows, and it
  /// shares what compile() sets. Null for all other models.
  virtual std::shared_ptr<ModelNode> template_model() const { return nullptr; }
  /// What summary() says below the table, or nothing.
  virtual std::string summary_note() const { return {}; }

  /// Keras' hooks. fit, evaluate and predict call them once per replica and batch, at the same time on every
  /// replica, each with its rows: they change nothing but metrics and what goes through Call. A batch may
  /// have no rows here.
  ///
  /// compute_loss() gives this replica's part of the loss, the sum over its rows divided by the count of the
  /// whole batch: the loss of compile(), step.compiled_loss(), unless it is overridden.
  virtual Tensor compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions);
  virtual void compute_metrics(ReplicaStep& step, const Batch& batch, const Tensors& predictions);
  /// One training step, Keras' recipe: forward under a GradientTape, compute_loss, gradient, apply_gradients.
  /// fit looks whether a class that goes through make_model overrides it.
  virtual void train_step(ReplicaStep& step, const Batch& batch);
  virtual void test_step(ReplicaStep& step, const Batch& batch);
  virtual Tensors predict_step(ReplicaStep& step, const Batch& batch);
  /// False for a model that only its train_step() knows how to run (a GAN): then fit builds nothing by
  /// itself, the parts of the model are built when they are made, and the losses of compile() do not exist.
  virtual bool has_call() const { return true; }
  /// Metrics of the model's own: fit sets them to zero with each epoch and shows their results.
  const std::vector<Metric>& own_metrics() const { return own_metrics_; }
  /// Optimizers of the model's own, by the attribute under which files know their state.
  const std::vector<std::pair<std::string, Optimizer>>& own_optimizers() const { return own_optimizers_; }
  /// Whether it is that of compile() or one of own_optimizers(), here or in a model inside.
  bool holds(const BaseOptimizer& optimizer) const;

  const std::shared_ptr<StrategyNode>& strategy() const { return strategy_; }
  /// Strategy::adopt: the optimizers' states move with the variables, models inside this one come along, sums
  /// of metrics begin anew.
  void leave_strategy() override;
  void enter_strategy(const std::shared_ptr<StrategyNode>& strategy) override;

  /// Held while the model is built for its first rows, gets or loses a layer or is compiled, and by what
  /// lists its parts for any thread, as summary_text() does.
  RecursiveMutex& building() { return building_; }
  /// What compile() and fit know, which copies of a model on several devices share; null before compile.
  const std::shared_ptr<ModelTraining>& training() const { return training_; }
  void set_training(std::shared_ptr<ModelTraining> training);
  /// The parts of it; only after compile.
  CompiledTraining& compiled_training() const;
  EpochSums& epoch_sums() const;
  StepMemory& step_memory() const;
  ResumePoint& resume_point() const;

  /// Ends fit after the running batch.
  bool stop_training() const { return stop_training_; }
  void set_stop_training(bool stop) { stop_training_ = stop; }
  /// The file that load_model made it from: errors of its calls name it. Empty for others.
  const std::string& loaded_from() const { return loaded_from_; }
  void set_loaded_from(std::string file) { loaded_from_ = std::move(file); }
  /// Of a model from a file, why it has no loss; empty where it has one, or was compiled since.
  const std::string& no_loss_because() const { return no_loss_because_; }
  void set_no_loss_because(std::string reason) { no_loss_because_ = std::move(reason); }
  /// The hooks that the class overrides: make_model looks.
  struct Overrides {
    bool train_step = false, compute_loss = false;
  };
  const Overrides& overrides() const { return overrides_; }
  void set_overrides(const Overrides& overrides) { overrides_ = overrides; }

  /// Throws StateError for a variable that lies outside the model's strategy: made there, or moved there with
  /// another model that shares it. For built models; looks only where something changed since it did.
  void check_variables();

 protected:
  /// `Metric accuracy = track_metric(metrics::BinaryAccuracy());`: one of own_metrics().
  template <class M>
  M track_metric(M metric) {
    own_metrics_.push_back(metric);
    return metric;
  }

  /// `Optimizer slow = track_optimizer("slow", Adam(1e-4));`: one of own_optimizers(). Its state is in all
  /// files of the model, and moves with it. Throws InvalidArgumentError for a name that is taken.
  template <class O>
  O track_optimizer(const std::string& attribute, O optimizer) {
    add_optimizer(attribute, optimizer);
    return optimizer;
  }

 private:
  void add_optimizer(const std::string& attribute, const Optimizer& optimizer);
  std::vector<Optimizer> all_optimizers() const;

  std::vector<Metric> own_metrics_;
  std::vector<std::pair<std::string, Optimizer>> own_optimizers_;
  std::shared_ptr<StrategyNode> strategy_;
  RecursiveMutex building_{Mutex::AtFork::is_waited};
  std::shared_ptr<ModelTraining> training_;
  bool stop_training_ = false;
  std::string loaded_from_, no_loss_because_;
  Overrides overrides_;
  /// Of optimizers that gather gradients, between leave_strategy() and enter_strategy(); of others nothing.
  std::vector<std::pair<Optimizer, Tensors>> moving_states_;
  std::atomic<uint64_t> checked_at_{0};  // variable_changes() of the last check
};

}  // namespace nyala
