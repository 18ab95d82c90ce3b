#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/fields.h>
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

/// What models, training and files see of an optimizer: one with a formula (OptimizerNode), or a group that
/// leaves its variables to others (OptimizerGroup).
class BaseOptimizer : public UpdateRule {
 public:
  /// Throws InvalidArgumentError for options that exclude each other or are out of range.
  explicit BaseOptimizer(OptimizerOptions options);

  virtual std::string class_name() const = 0;
  virtual void fields(FieldVisitor& visitor) = 0;

  /// Takes the trainable variables (all from one store) and makes the slots. Keeps the state of variables
  /// that it already knows, wherever they lay before, but not their gathered gradients; constraints of the
  /// variables are applied after each update. Throws StateError for variables that were not trainable when
  /// made, DTypeError for more than one dtype.
  virtual void build(ParameterStore& store, const Variables& variables) = 0;
  virtual bool built() const = 0;
  /// Excludes variables whose name (Keras' "kernel") or path contains one of `patterns` from weight decay.
  /// Throws StateError after build, as Keras does.
  virtual void exclude_from_weight_decay(std::vector<std::string> patterns) = 0;
  /// Those patterns; of a group, whose members have their own, none.
  virtual std::vector<std::string> excluded_from_weight_decay() const { return {}; }

  /// Updates done: steps / accumulation steps.
  virtual int64_t iterations() const = 0;
  /// Steps done, those that only gather gradients included.
  virtual int64_t steps() const = 0;
  /// It has done so many steps; the rest of its state stays.
  virtual void set_steps(int64_t steps) = 0;
  /// True for one whose state is that of the beginning: files then hold variables_before_build() alone.
  virtual bool made_no_step() const { return steps() == 0; }
  /// The rate of the next update, a float32 number as in Keras; schedules see steps, not updates.
  virtual double learning_rate() const = 0;
  /// Throws StateError when the rate is a schedule.
  virtual void set_learning_rate(double rate) = 0;
  /// What a program does with steps and rates by its handle.
  enum class Access { reads, sets_rate };
  /// Where others apply its gradients: brings steps and rates here before Optimizer reads them, throws where
  /// a rate that is set here is not theirs.
  void set_catch_up(std::function<void(Access)> catch_up) { catch_up_ = std::move(catch_up); }
  void catch_up(Access access) const {
    if (catch_up_) catch_up_(access);
  }
  /// What losses are multiplied by before gradients are taken of them; updates divide by it.
  virtual double loss_scale() const;
  /// loss_scale() for one who multiplies a loss by it.
  virtual double scale_for_loss() { return loss_scale(); }
  /// Sets the option of that name; NaN: none.
  void set_loss_scale_factor(double factor) { options_.loss_scale_factor = factor; }
  const OptimizerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }

  /// State in the order of Keras' `optimizer.variables`: iteration (int64), learning_rate (float32, absent
  /// with a schedule), averages, accumulators, slots. Copies on the host.
  std::vector<OptimizerVariable> variables_for_file() const;
  /// The same, but what lies on the host is shared instead of copied: to be written before the next update.
  virtual std::vector<OptimizerVariable> shared_variables_for_file() const = 0;
  /// Those of them that are there before build().
  virtual std::vector<OptimizerVariable> variables_before_build() const = 0;
  /// Sets the state from such a list. Throws ShapeError naming what does not fit; nothing is changed then.
  virtual void load_variables(const std::vector<Tensor>& values) = 0;
  /// How often load_variables() has set the state.
  uint64_t times_loaded() const { return times_loaded_; }
  /// Whether the processes have compared what a loop of the program's own trains by it.
  bool compared = false;

  /// Follows its variables, which have moved to `store`, with the state that variables_for_file() gave
  /// before.
  void move_to(ParameterStore& store, const std::vector<Tensor>& state);
  /// If moving averages are kept: writes them to the weights (end of fit).
  virtual void finalize_averages() = 0;

  /// The rule for an update of `active`, which are among `listed`: the optimizer itself where that is all of
  /// its variables. Builds an optimizer that is not built yet for `listed`. Throws InvalidArgumentError for a
  /// variable that it was not built with (Keras: make another optimizer), StateError for variables of two
  /// strategies.
  virtual UpdateRule& rule_for(ParameterStore& store, const Variables& listed, const Variables& active) = 0;

  const Variables& updated() const override { return part_ ? part_->variables() : variables(); }
  /// After begin_step(): the step that goes on updates `active` alone, the others keep value and state.
  void restrict_step(ParameterStore& store, const Variables& active);

 protected:
  OptimizerOptions options_;
  uint64_t times_loaded_ = 0;
  std::function<void(Access)> catch_up_;
  UpdateRule* part_ = nullptr;  // what updates in the step that goes on, where not all variables are
};

}  // namespace nyala
