#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nyala/api/fields.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// How per-sample losses become one number. `sum_over_batch_size` is the mean over all elements.
enum class Reduction { sum_over_batch_size, mean, sum, mean_with_sample_weight, none };

/// A loss: y_true and y_pred to one value per sample (y_pred without its last axis). Derive to write one.
class LossNode {
 public:
  virtual ~LossNode() = default;
  virtual std::string class_name() const = 0;
  virtual std::string name() const = 0;
  virtual void fields(FieldVisitor&) {}
  /// Differentiable in y_pred.
  virtual Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const = 0;
  virtual Reduction reduction() const { return Reduction::sum_over_batch_size; }
  /// Elements of the per-sample tensor that count in the denominator differ from its size (ignored classes,
  /// masks): then this returns, as a scalar tensor, how many there are; else an undefined tensor.
  virtual Tensor valid_count(const Tensor& y_true, const Tensor& y_pred) const;
};

/// A handle on a loss: a name ("mse", "sparse_categorical_crossentropy"), an object, or a function of
/// (y_true, y_pred) returning per-sample values.
class Loss {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

  Loss() = default;
  /// Throws InvalidArgumentError for an unknown name, with the nearest one.
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);
  Loss(Function function, std::string name = "loss");
  Loss(std::shared_ptr<const LossNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const LossNode& node() const { return *node_; }
  std::string name() const { return node_->name(); }
  /// The reduced loss, a scalar (per-sample values for Reduction::none). `sample_weight` may be undefined; it has
  /// the shape of the per-sample values or broadcasts to it.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;

 protected:
  std::shared_ptr<const LossNode> node_;
};

/// Makes ranks fit as Keras does: y_true (n, 1) against y_pred (n,) and the reverse are squeezed or expanded.
Tensor fit_rank(const Tensor& y_true, const Tensor& y_pred);

}  // namespace nyala
