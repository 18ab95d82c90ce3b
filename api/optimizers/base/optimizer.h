#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/api/optimizers/base/partial_update.h>
#include <nyala/api/optimizers/base/update_plan.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/backend/core/held.h>
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

/// A tensor of Keras' files that lies in a slot of one variable: its first elements.
struct SlotInFile {
  size_t slot = 0;
  std::string name;
  Shape shape;
  bool placeholder = false;  // an int32 zero that stands for a slot that the variable lacks
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
  /// True for a slot that begins as a copy of the weight.
  virtual bool slot_begins_as_weight(size_t) const { return false; }
  /// What Keras' files hold of one variable's slots, where that is not every slot in the variable's shape.
  virtual std::vector<SlotInFile> slots_in_file(const Variable&) const { return {}; }
  /// Variables of Keras' files behind all slots, which follow from the number of updates done.
  virtual std::vector<OptimizerVariable> derived_variables(int64_t) const { return {}; }

  /// The numbers of update `step` (from 0) at rate `learning_rate` that the formula reads on the device,
  /// always as many. `dtype`: that of the weights, in which Keras computes them.
  virtual std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const = 0;
  /// The formula, elementwise, as ops on `range` that write weight and slots in place.
  virtual void update(const UpdateRange& range) const = 0;
  /// True if update() itself multiplies gradients by the factor, clips them and decays weights (as all ops of
  /// backend/ops/update/optimizer_updates.h do). False: gradients and weights come prepared.
  virtual bool prepares() const { return false; }
  /// True if the formula is not elementwise: update() gets each variable whole, UpdateRange::shape is its
  /// shape.
  virtual bool takes_whole_variables() const { return false; }
  /// The weight decay of a variable that is not excluded; NaN: none.
  virtual double weight_decay_of(const Variable&) const { return options_.weight_decay; }

  /// Takes the trainable variables (all from one store) and makes the slots. Keeps the state of variables
  /// that it already knows, wherever they lay before, but not their gathered gradients; constraints of the
  /// variables are applied after each update. Throws StateError for variables that were not trainable when
  /// made, DTypeError for more than one dtype.
  virtual void build(ParameterStore& store, const Variables& variables);
  virtual bool built() const { return store_ != nullptr; }
  /// Excludes variables whose name (Keras' "kernel") or path contains one of `patterns` from weight decay.
  /// Throws StateError after build, as Keras does.
  virtual void exclude_from_weight_decay(std::vector<std::string> patterns);

  /// Updates done: steps / accumulation steps.
  virtual int64_t iterations() const;
  /// Steps done, those that only gather gradients included.
  virtual int64_t steps() const { return steps_; }
  /// True for one whose state is that of the beginning: files then hold variables_before_build() alone.
  virtual bool made_no_step() const { return steps_ == 0; }
  /// The rate of the next update, a float32 number as in Keras; schedules see steps, not updates.
  virtual double learning_rate() const;
  /// Throws StateError when the rate is a schedule.
  virtual void set_learning_rate(double rate);
  /// What losses are multiplied by before gradients are taken of them; updates divide by it.
  virtual double loss_scale() const;
  /// Sets the option of that name; NaN: none.
  void set_loss_scale_factor(double factor) { options_.loss_scale_factor = factor; }
  const OptimizerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }

  /// State in the order of Keras' `optimizer.variables`: iteration (int64), learning_rate (float32, absent
  /// with a schedule), averages, accumulators, slots. Copies on the host.
  std::vector<OptimizerVariable> variables_for_file() const;
  /// The same, but what lies on the host is shared instead of copied: to be written before the next update.
  virtual std::vector<OptimizerVariable> shared_variables_for_file() const;
  /// Those of them that are there before build().
  virtual std::vector<OptimizerVariable> variables_before_build() const;
  /// Sets the state from such a list. Throws ShapeError naming what does not fit; nothing is changed then.
  virtual void load_variables(const std::vector<Tensor>& values);
  /// Follows its variables, which have moved to `store`, with the state that variables_for_file() gave
  /// before.
  virtual void move_to(ParameterStore& store, const std::vector<Tensor>& state);
  /// If moving averages are kept: writes them to the weights (end of fit).
  virtual void finalize_averages();

  /// The rule for an update of `active`, which are among `listed`: the optimizer itself where that is all of
  /// its variables. Builds an optimizer that is not built yet for `listed`. Throws InvalidArgumentError for a
  /// variable that it was not built with (Keras: make another optimizer), StateError for variables of two
  /// strategies.
  virtual UpdateRule& rule_for(ParameterStore& store, const Variables& listed, const Variables& active);

  // UpdateRule
  const Variables& variables() const override { return variables_; }
  bool begin_step() override;
  bool accumulates_into_existing() const override;
  void apply(const UpdatePlace& place) override;
  void end_step() override;
  void end_gathering() override;

 protected:
  /// What update() has to do first where prepares() is true, on its own: the gradient and the weight are
  /// changed.
  static void prepare(const UpdateRange& range);

  OptimizerOptions options_;

 private:
  friend class PartialUpdate;

  /// The state that belongs to one set of weights.
  struct Copy {
    std::vector<Plane> slot_planes;
    std::vector<Plane> averages;  // one or none
    std::unique_ptr<UpdatePlan> plan;
    std::shared_ptr<const std::vector<Segment>> places;  // by variable: these move without asking
  };

  int64_t accumulation_steps() const { return std::max<int64_t>(options_.gradient_accumulation_steps, 1); }
  double gradient_scale() const;
  DType dtype() const { return variables_.front().dtype(); }
  Copy make_copy(int copy) const;
  void reset_segments(Copy& copy, const std::set<const VariableNode*>& kept) const;
  UpdatePlanOptions plan_options(const Variables& variables) const;
  std::unique_ptr<UpdatePlan> make_plan(int copy, const Variables& variables);
  void apply_plan(UpdatePlan& plan, const UpdatePlace& place, const Variables& variables);
  /// What Keras does after every step, also after those that only gather gradients.
  void average_and_constrain(const std::function<UpdatePlan&(int)>& plan_of, const Variables& variables);
  void check_known(const Variables& listed) const;
  double decay_of(const Variable& variable) const;
  std::vector<double> scalars() const;
  UpdatePlan& plan_of(int copy);
  void update_slice(const UpdatePlan& plan, int slice) const;
  bool overwrites_now() const;
  void average(const UpdateRange& range) const;
  void constrain(int copy, const Variables& variables) const;

  /// One tensor of state that belongs to a variable.
  struct StateEntry {
    enum class Kind { average, accumulator, slot, placeholder };
    Kind kind;
    size_t slot;
    Variable variable;
    std::string name;
    Shape shape;
    Segment place;
  };
  const Segment& place_of(size_t variable) const { return (*copies_.front().places)[variable]; }
  bool has_moved(const Variable& variable, const Segment& place) const;
  /// For a step with variables of `store`. Throws StateError where its variables lie in several.
  void follow(ParameterStore& store);
  /// Those whose state lies where they lie.
  std::set<const VariableNode*> unmoved() const;
  std::vector<std::pair<StateEntry, Tensor>> state_left_behind(const std::set<const VariableNode*>& kept,
                                                               const Variables& wanted) const;
  void add_slot_entries(std::vector<StateEntry>& entries) const;
  std::vector<StateEntry> state_entries() const;
  Plane& plane_of(const StateEntry& entry, Copy& copy) const;
  Tensor shared(const StateEntry& entry) const;
  void write(const StateEntry& entry, const Tensor& value);
  Tensor accumulated(const Variable& variable) const;
  void set_accumulated(const Variable& variable, const Tensor& value);

  std::shared_ptr<ParameterStore> store_;
  Variables variables_;
  Variables constrained_;  // those of variables_ that have a constraint
  std::vector<std::string> no_decay_;
  mutable std::vector<Copy> copies_;
  std::vector<std::unique_ptr<PartialUpdate>> partial_updates_;  // the latest at the end
  int64_t steps_ = 0;  // Keras' iteration: counts steps that only gather, too
  float rate_ = 0.0f;
};

using GradientsAndVariables = std::vector<std::pair<Tensor, Variable>>;

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
  /// Throws StateError for an empty handle, as everything but `bool` does.
  OptimizerNode& node() const { return detail::held(node_, "Optimizer", "give a name or an object"); }
  int64_t iterations() const { return node().iterations(); }
  double learning_rate() const { return node().learning_rate(); }
  void set_learning_rate(double rate) const { node().set_learning_rate(rate); }
  /// Makes the state for `variables`, as else the first apply_gradients() does.
  void build(const Variables& variables) const;
  /// The loss times what apply_gradients() divides gradients by: to be differentiated instead of it where the
  /// optimizer scales losses. fit() does so by itself.
  Tensor scale_loss(const Tensor& loss) const;

  /// Updates variables by gradients of a GradientTape. Inside Strategy::run it is a collective: all replicas
  /// come with the same variables, their gradients are summed and applied once (so losses are sums over the
  /// replica's rows divided by the rows of the global batch), and all go on with the new weights. Elsewhere
  /// the gradients are those of the whole batch, whatever the strategy of the variables.
  /// The first call builds the optimizer for the variables that it names. A variable without a gradient (an
  /// undefined tensor on every replica) and one that is not named keep value and state; the first are warned
  /// of once. Throws InvalidArgumentError where there is no gradient at all, for a variable named twice and
  /// for one that the optimizer was not built with; ShapeError for a gradient that does not fit;
  /// StateError in a step of a model that does not hold the optimizer (ModelNode::track_optimizer).
  void apply_gradients(const GradientsAndVariables& gradients_and_variables) const;
  /// Keras' apply(gradients, variables).
  void apply_gradients(const Tensors& gradients, const Variables& variables) const;

 protected:
  std::shared_ptr<OptimizerNode> node_;
};

}  // namespace nyala
