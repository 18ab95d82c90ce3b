#pragma once

#include <string>
#include <vector>

#include <nyala/api/optimizers/base/base_optimizer.h>
#include <nyala/api/optimizers/base/update_plan.h>

namespace nyala {

/// A tensor of Keras' files that lies in a slot of one variable: its first elements.
struct SlotInFile {
  size_t slot = 0;
  std::string name;
  Shape shape;
  bool placeholder = false;  // an int32 zero that stands for a slot that the variable lacks
};

/// What one optimizer adds to all others: its slots, the numbers of a step, and how a range of weights is
/// updated by them. Three functions are enough; it knows no plan, no arena and no file.
class UpdateFormula {
 public:
  virtual ~UpdateFormula() = default;

  /// Number of slots per weight and their names in Keras' order ("momentum", "velocity").
  virtual std::vector<std::string> slot_names() const = 0;
  virtual double slot_initial(size_t) const { return 0.0; }
  /// True for a slot that begins as a copy of the weight.
  virtual bool slot_begins_as_weight(size_t) const { return false; }

  /// The numbers of update `step` (from 0) at rate `learning_rate` that the formula reads on the device,
  /// always as many. `dtype`: that of the weights, in which Keras computes them.
  virtual std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const = 0;
  /// The formula, elementwise, as ops on `range` that write weight and slots in place.
  virtual void update(const UpdateRange& range) const = 0;
  /// True if update() itself multiplies gradients by the factor, clips them and decays weights (as all
  /// formulas of backend/ops/update/update_formulas.h do). False: gradients and weights come prepared.
  virtual bool prepares() const { return false; }
  /// True if the formula is not elementwise: update() gets each variable whole, UpdateRange::shape is its
  /// shape.
  virtual bool takes_whole_variables() const { return false; }

  /// Keras' file order: that many first slots stand together for each variable (m0 v0 m1 v1), the others
  /// follow one slot after the other.
  virtual size_t interleaved_slots() const { return slot_names().size(); }
  /// What Keras' files hold of one variable's slots, where that is not every slot in the variable's shape.
  virtual std::vector<SlotInFile> slots_in_file(const Variable&) const { return {}; }
  /// Variables of Keras' files behind all slots, which follow from the number of updates done.
  virtual std::vector<OptimizerVariable> derived_variables(int64_t) const { return {}; }

 protected:
  /// What update() has to do first where prepares() is true, on its own: the gradient and the weight are
  /// changed.
  static void prepare(const UpdateRange& range);
};

}  // namespace nyala
