#pragma once

#include <cstdint>
#include <functional>

#include <nyala/backend/parameters/parameter_store.h>

namespace nyala {

/// Where one application of an update rule takes place: one set of weights of a store, and the replica whose
/// gradients hold the sum over all replicas.
struct UpdatePlace {
  ParameterStore* store = nullptr;
  int copy = 0;
  int gradient_replica = 0;
  /// Calls body(slice) for every slice in [0, num_slices), perhaps at the same time on the replicas' threads.
  std::function<void(int num_slices, const std::function<void(int)>& body)> parallel;
  int num_slices = 1;
};

/// How gradients change weights: the strategy decides where and when, the rule how. Knows no tape, no replica
/// and no device. Optimizers derive from it.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// The variables that the rule changes; all float32 or all float64, from one store.
  virtual const Variables& variables() const = 0;

  /// Those of them that the step which goes on updates: all that were not left out since begin_step().
  virtual const Variables& updated() const { return variables(); }

  /// Prepares for one more step; returns false if gradients are only to be gathered in this step (gradient
  /// accumulation): then nothing is reduced and apply() is not called.
  virtual bool begin_step() = 0;

  /// True if the gradients of the coming step are added to what the gradient arena holds already.
  virtual bool accumulates_into_existing() const = 0;

  /// Applies the summed gradients to one set of weights. Called once per set after begin_step() said true;
  /// must do exactly the same for each.
  virtual void apply(const UpdatePlace& place) = 0;

  /// Called once after every set has been written.
  virtual void end_step() = 0;

  /// Called instead of apply() and end_step() at the end of a step for which begin_step() said false.
  virtual void end_gathering() {}
};

/// A model, seen from a strategy: something that owns variables.
class ParameterOwner {
 public:
  virtual ~ParameterOwner() = default;
  virtual Variables variables() const = 0;
};

}  // namespace nyala
