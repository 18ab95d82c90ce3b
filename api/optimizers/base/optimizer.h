#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/optimizers/base/base_optimizer.h>
#include <nyala/backend/core/held.h>

namespace nyala {

using GradientsAndVariables = std::vector<std::pair<Tensor, Variable>>;

/// A handle on an optimizer: a name ("adam", "RMSProp": in any case of letters) or an object. Copies name the
/// same optimizer.
class Optimizer {
 public:
  Optimizer() = default;
  /// Throws InvalidArgumentError for an unknown name, with the nearest one.
  Optimizer(const char* name) : Optimizer(std::string(name)) {}
  Optimizer(const std::string& name);
  explicit Optimizer(std::shared_ptr<BaseOptimizer> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// Throws StateError for an empty handle, as everything but `bool` does.
  const std::shared_ptr<BaseOptimizer>& shared() const { return node_; }
  BaseOptimizer& node() const { return detail::held(node_, "Optimizer", "give a name or an object"); }
  int64_t iterations() const {
    node().catch_up(BaseOptimizer::Access::reads);
    return node().iterations();
  }
  double learning_rate() const {
    node().catch_up(BaseOptimizer::Access::reads);
    return node().learning_rate();
  }
  /// Throws StateError where the rate follows a schedule, and in a worker of parameter servers while it
  /// trains a batch or carries out a function: the chief's holds.
  void set_learning_rate(double rate) const {
    node().catch_up(BaseOptimizer::Access::sets_rate);
    node().set_learning_rate(rate);
  }
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
  std::shared_ptr<BaseOptimizer> node_;
};

}  // namespace nyala
