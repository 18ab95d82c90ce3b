#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/fields.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/optimizers/update_plan.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

/// The options that every optimizer has (Keras' base class), with Keras' defaults.
struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = kNoValue;
  double clipnorm = kNoValue;
  double clipvalue = kNoValue;
  double global_clipnorm = kNoValue;
  bool use_ema = false;
  double ema_momentum = 0.99;
  int64_t ema_overwrite_frequency = 0;  // 0: never during fit
  double loss_scale_factor = kNoValue;
  int64_t gradient_accumulation_steps = 0;  // 0: none
  std::string name = {};
};

/// A named tensor of an optimizer's state, as Keras' files order them.
struct OptimizerVariable {
  std::string name;
  Tensor value;
};

/// The part that all optimizers share: clipping, weight decay, accumulation, moving averages, constraints,
/// state. An optimizer derives and gives its formula.
class OptimizerNode : public UpdateRule {
 public:
  explicit OptimizerNode(OptimizerOptions options);
  ~OptimizerNode() override;

  virtual std::string class_name() const = 0;
  virtual void fields(FieldVisitor& visitor) = 0;

  /// Number of slots per weight and their names in Keras' order ("momentum", "velocity").
  virtual std::vector<std::string> slot_names() const = 0;
  virtual double slot_initial(size_t) const { return 0.0; }
  /// Keras' file order: that many first slots stand together for each variable (m0 v0 m1 v1), the others
  /// follow one slot after the other.
  virtual size_t interleaved_slots() const { return slot_names().size(); }

  /// The numbers of update `step` (from 0) at rate `learning_rate` that the formula reads on the device,
  /// always as many. `dtype`: that of the weights, in which Keras computes them.
  virtual std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const = 0;
  /// The formula, elementwise, as ops on `range` that write weight and slots in place.
  virtual void update(const UpdateRange& range) const = 0;
  /// True if update() itself multiplies gradients by the factor, clips them and decays weights (as all ops of
  /// backend/ops/optimizer_updates.h do). False: gradients and weights come prepared.
  virtual bool prepares() const { return false; }

  /// Takes the trainable variables (all from one store) and makes the slots. Keeps the state of variables
  /// that it already knows; `constraints` are applied after each update. Throws StateError for variables that
  /// were not trainable when made, DTypeError for more than one dtype.
  void build(ParameterStore& store, const Variables& variables, std::vector<ConstrainedWeight> constraints);
  bool built() const { return store_ != nullptr; }
  /// Excludes variables whose name (Keras' "kernel") or path contains one of `patterns` from weight decay.
  /// Throws StateError after build, as Keras does.
  void exclude_from_weight_decay(std::vector<std::string> patterns);

  /// Updates done: steps / accumulation steps.
  int64_t iterations() const;
  /// The rate of the next update, a float32 number as in Keras; schedules see steps, not updates.
  double learning_rate() const;
  /// Throws StateError when the rate is a schedule.
  void set_learning_rate(double rate);
  const OptimizerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }

  /// State in the order of Keras' `optimizer.variables`: iteration (int64), learning_rate (float32, absent
  /// with a schedule), averages, accumulators, slots. Copies on the host.
  std::vector<OptimizerVariable> variables_for_file() const;
  /// Sets the state from such a list. Throws ShapeError naming what does not fit; nothing is changed then.
  void load_variables(const std::vector<Tensor>& values);
  /// If moving averages are kept: writes them to the weights (end of fit).
  void finalize_averages();

  // UpdateRule
  const Variables& variables() const override { return variables_; }
  bool begin_step() override;
  bool accumulates_into_existing() const override;
  void apply(const UpdatePlace& place) override;
  void end_step() override;
  void end_gathering() override;

 protected:
  OptimizerOptions options_;

 private:
  /// The state that belongs to one set of weights.
  struct Copy {
    std::vector<Plane> slots;
    std::vector<Plane> averages;  // one or none
    std::unique_ptr<UpdatePlan> plan;
  };

  int64_t accumulation_steps() const { return std::max<int64_t>(options_.gradient_accumulation_steps, 1); }
  double gradient_scale() const;
  DType dtype() const { return variables_.front().dtype(); }
  Copy make_copy(int copy) const;
  void reset_segments(Copy& copy, const Variables& known) const;
  UpdatePlanOptions plan_options() const;
  bool decays(const Variable& variable) const;
  std::vector<double> scalars() const;
  UpdatePlan& plan_of(int copy);
  void update_slice(const UpdatePlan& plan, int slice) const;
  bool overwrites_now() const;
  void average(const UpdateRange& range) const;
  void constrain(int copy) const;

  /// One tensor of state that belongs to a variable.
  struct StateEntry {
    enum class Kind { average, accumulator, slot };
    Kind kind;
    size_t slot;
    Variable variable;
    std::string name;
  };
  std::vector<StateEntry> state_entries() const;
  Plane& plane_of(const StateEntry& entry, Copy& copy) const;
  Tensor read(const StateEntry& entry) const;
  void write(const StateEntry& entry, const Tensor& value);
  Tensor accumulated(const Variable& variable) const;
  void set_accumulated(const Variable& variable, const Tensor& value);

  std::shared_ptr<ParameterStore> store_;
  Variables variables_;
  std::vector<ConstrainedWeight> constraints_;
  std::vector<std::string> no_decay_;
  mutable std::vector<Copy> copies_;
  int64_t steps_ = 0;  // Keras' iteration: counts steps that only gather, too
  float rate_ = 0.0f;
};

/// A handle on an optimizer: a name ("adam", "RMSProp": in any case of letters) or an object. Copies name the
/// same optimizer.
class Optimizer {
 public:
  Optimizer() = default;
  /// Throws InvalidArgumentError for an unknown name, with the nearest one.
  Optimizer(const char* name) : Optimizer(std::string(name)) {}
  Optimizer(const std::string& name);
  explicit Optimizer(std::shared_ptr<OptimizerNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  OptimizerNode& node() const { return *node_; }
  int64_t iterations() const { return node_->iterations(); }
  double learning_rate() const { return node_->learning_rate(); }
  void set_learning_rate(double rate) const { node_->set_learning_rate(rate); }

 protected:
  std::shared_ptr<OptimizerNode> node_;
};

}  // namespace nyala
