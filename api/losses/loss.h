#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <nyala/api/base/fields.h>
#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// How per-sample losses become one number. `sum_over_batch_size` is the mean over all elements.
enum class Reduction { sum_over_batch_size, mean, sum, mean_with_sample_weight, none };

namespace detail {

/// The reduction with Keras' name. Throws InvalidArgumentError with the nearest one.
Reduction parse_reduction(const std::string& name);

}  // namespace detail

/// A function of (y_true, y_pred).
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

/// A loss: y_true and y_pred to one value per sample (y_pred without its last axis). Derive to write one.
class LossNode {
 public:
  virtual ~LossNode() = default;
  virtual std::string class_name() const = 0;
  virtual std::string name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  /// Differentiable in y_pred. Ranks are made to fit here; dtypes are those of in_loss_dtype(). A scalar is
  /// the mean of the rows.
  virtual Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const = 0;
  /// True if targets and predictions of any dtype may come as they are, class numbers as integers.
  virtual bool takes_any_dtype() const { return false; }
  virtual Reduction reduction() const { return Reduction::sum_over_batch_size; }
  /// False where a row's value depends on other rows of the batch: then per_sample() needs whole batches,
  /// also under several replicas.
  virtual bool rows_are_independent() const { return true; }
  /// True where the loss compares elements, so that numbers of axes that differ are broadcast from the last
  /// one: rows of the one tensor may stand against another axis of the other.
  virtual bool compares_elements() const { return false; }
  /// Elements of the per-sample tensor that count in the denominator differ from its size (ignored classes,
  /// masks): then this returns, as a scalar tensor, how many there are; else an undefined tensor.
  virtual Tensor valid_count(const Tensor&, const Tensor&) const { return {}; }
  /// Where it is used as a metric: 0 for the elements that do not count and 1 for the others, in the shape of
  /// the per-sample values; undefined: all count.
  virtual Tensor valid_mask(const Tensor&, const Tensor&) const { return {}; }
  /// The user's function that it is, or null for a class.
  virtual const LossFunction* function() const { return nullptr; }
};

/// What a loss that is a function may say about it.
struct FunctionLossConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "loss";
  /// False where the function is no mean over rows, each for itself (Dice over the batch, a sum): then it is
  /// given the whole batch, also under several replicas.
  bool rows_are_independent = true;
};

/// A handle on a loss: a name ("mse", "sparse_categorical_crossentropy"), an object, or a function of
/// (y_true, y_pred), whose ranks and dtypes are made to fit. It returns per-sample values, or a scalar: the
/// mean of what it saw, which weighs by rows over replicas. The name "crossentropy" ("ce") stands for the
/// binary, sparse or categorical one, by the shapes of y_true and y_pred.
class Loss {
 public:
  using Function = LossFunction;

  Loss() = default;
  /// Also what register_serializable() named. Throws InvalidArgumentError for an unknown name, with the
  /// nearest one.
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);
  /// `Loss(dice, {.rows_are_independent = false})`.
  Loss(Function function, const FunctionLossConfig& config = {});
  /// `Loss(dice, "dice")`. A template, so that braces mean the configuration.
  template <class Name>
  requires(std::is_convertible_v<Name, std::string>) Loss(Function function, Name&& name)
      : Loss(std::move(function), FunctionLossConfig{.name = std::forward<Name>(name)}) {}
  /// A lambda where a loss is expected: `.loss = [](const Tensor& y_true, const Tensor& y_pred) { ... }`.
  template <class F>
  requires(!std::derived_from<std::remove_cvref_t<F>, Loss> &&
           std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>) Loss(F&& function)
      : Loss(Function(std::forward<F>(function))) {}
  Loss(std::shared_ptr<const LossNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// Throws StateError for an empty handle, as everything but `bool` does.
  const LossNode& node() const { return detail::held(node_, "Loss", "give a name, an object or a function"); }
  std::string name() const { return node().name(); }
  /// The reduced loss, a scalar (per-sample values for Reduction::none). `sample_weight` may be undefined; it
  /// has the shape of the per-sample values or broadcasts to it. The mean over nothing is 0. A scalar of
  /// per_sample() stays as it is, times the mean of the weights (their sum for Reduction::sum), as in Keras.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;

 protected:
  std::shared_ptr<const LossNode> node_;
};

namespace detail {

/// y_true and y_pred as `loss` takes them. As in Keras a function and a loss of one's own see both in the
/// loss' dtype: float32, or float64 where y_pred has that. What has it already, and the y_true of a loss that
/// takes_any_dtype(), is not copied.
std::pair<Tensor, Tensor> in_loss_dtype(const LossNode& loss, const Tensor& y_true, const Tensor& y_pred);

/// Two tensors whose ranks differ by a last axis of size 1, made to fit as Keras does: a vector gets the
/// axis, from a longer tensor it is taken. Others stay as they are.
std::pair<Tensor, Tensor> fit_ranks(const Tensor& a, const Tensor& b);

/// y_true with the rank of y_pred, for losses and metrics that compare them elementwise: a last axis of size
/// 1 is taken or added.
Tensor fit_rank(const Tensor& y_true, const Tensor& y_pred);

}  // namespace detail

/// Which crossentropy and accuracy the shapes of a target and a prediction ask for, as in Keras.
enum class TargetKind { binary, sparse, categorical };

namespace detail {

TargetKind target_kind(const Shape& y_true, const Shape& y_pred);

}  // namespace detail

}  // namespace nyala
