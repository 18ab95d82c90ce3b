// A loss is a value per row and a reduction of them, in Keras' order: weights, mask, sum, divisor. An axis of
// size 1 too many or too few is taken off or added first, as Keras' squeeze_or_expand_to_same_rank does.
#include <map>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/base/divide_no_nan.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/base/short_error_names.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/losses/loss.h>
#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const NameTable<Loss>& names() {
  static const NameTable<Loss>& table = *new NameTable<Loss>("loss", Losses{}, [] {
    NameTable<Loss>::Aliases aliases = detail::short_error_names();
    aliases.emplace_back("kld", "KLDivergence");
    aliases.emplace_back("KLD", "KLDivergence");
    return aliases;
  }());
  return table;
}

class FunctionLoss final : public LossNode {
 public:
  FunctionLoss(Loss::Function function, FunctionLossConfig config)
      : function_(std::move(function)),
        config_(std::move(config)),
        reduction_(parse_reduction(config_.reduction)) {}
  std::string class_name() const override { return "FunctionLoss"; }
  std::string name() const override { return config_.name; }
  void fields(FieldVisitor& v) const override {
    FunctionLossConfig shown = config_;
    v.field("reduction", shown.reduction);
    v.field("rows_are_independent", shown.rows_are_independent);
  }
  Reduction reduction() const override { return reduction_; }
  bool rows_are_independent() const override { return config_.rows_are_independent; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    const auto [target, prediction] = fit_ranks(y_true, y_pred);
    return function_(target, prediction);
  }
  const LossFunction* function() const override { return &function_; }

 private:
  Loss::Function function_;
  FunctionLossConfig config_;
  Reduction reduction_;
};

/// "crossentropy": chosen anew for every pair of shapes.
class AnyCrossentropy final : public LossNode {
 public:
  explicit AnyCrossentropy(std::string name) : name_(std::move(name)) {}
  std::string class_name() const override { return "Crossentropy"; }
  bool takes_any_dtype() const override { return true; }
  std::string name() const override { return name_; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    switch (target_kind(y_true.shape(), y_pred.shape())) {
      case TargetKind::binary:
        return binary_.node().per_sample(y_true, y_pred);
      case TargetKind::sparse:
        return sparse_.node().per_sample(y_true, y_pred);
      default:
        return categorical_.node().per_sample(y_true, y_pred);
    }
  }

 private:
  std::string name_;
  BinaryCrossentropy binary_;
  SparseCategoricalCrossentropy sparse_;
  CategoricalCrossentropy categorical_;
};

/// Weights of the values, in a shape that broadcasts to theirs.
Tensor fitting_weights(const Tensor& weights, const Tensor& values, const std::string& name) {
  const Tensor given = ops::cast(weights, values.dtype());
  if (given.rank() == values.rank() + 1 && given.shape().back() == 1)
    return ops::reshape(given, given.shape().slice(0, values.rank()));
  const auto [fitted_values, fitted] = fit_ranks(values, given);
  bool fits = fitted_values.rank() == values.rank() && fitted.rank() <= values.rank();
  for (int axis = 1; fits && axis <= fitted.rank(); ++axis) {
    const int64_t size = fitted.shape()[fitted.rank() - axis];
    fits = size == 1 || size == values.shape()[values.rank() - axis];
  }
  if (!fits)
    throw ShapeError("loss " + in_quotes(name) +
                     ": expected sample weights that broadcast to its values of shape " +
                     values.shape().to_string() + ", received shape " + weights.shape().to_string() +
                     "; weights of rows need an axis of size 1 for each further axis of the values, or the "
                     "loss returns a value per row");
  return fitted;
}

/// What Keras makes of a scalar and weights: it spreads over them and is reduced.
Tensor weighted_scalar(const Tensor& value, const Tensor& sample_weight, Reduction reduction) {
  if (!sample_weight.defined()) return value;
  const Tensor weights = ops::cast(sample_weight, value.dtype());
  if (reduction == Reduction::none) return value * weights;
  const Tensor sum = ops::sum(weights);
  if (reduction == Reduction::sum) return value * sum;
  if (reduction == Reduction::mean_with_sample_weight) return divide_no_nan(value * sum, sum);
  const int64_t count = weights.num_elements();
  return value * sum * (count > 0 ? 1.0 / static_cast<double>(count) : 0.0);
}

}  // namespace

Reduction detail::parse_reduction(const std::string& name) {
  static const std::map<std::string, Reduction>& reductions =
      *new std::map<std::string, Reduction>{{"sum_over_batch_size", Reduction::sum_over_batch_size},
                                            {"mean", Reduction::mean},
                                            {"sum", Reduction::sum},
                                            {"mean_with_sample_weight", Reduction::mean_with_sample_weight},
                                            {"none", Reduction::none}};
  if (const auto found = reductions.find(name); found != reductions.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& reduction : reductions) known.push_back(reduction.first);
  throw InvalidArgumentError("unknown reduction " + in_quotes(name) + did_you_mean(name, known) +
                             ": expected one of " + quoted_list(known));
}

Tensor detail::per_sample_of(const LossNode& loss, const Tensor& y_true, const Tensor& y_pred) {
  try {
    return loss.per_sample(y_true, y_pred);
  } catch (const ShapeError&) {
    rethrow_with_prefix("loss " + in_quotes(loss.name()) + " of y_true " + y_true.shape().to_string() +
                        " and y_pred " + y_pred.shape().to_string() + ": ");
  }
}

namespace {

/// A function or class of the user's.
std::optional<Loss> registered_loss(const std::string& name) {
  const CustomObject object = registered_object(name);
  if (const auto* const known = object.as<KnownLossFunction>())
    return Loss(known->function, without_package(name));
  return registered<Loss>(name);
}

}  // namespace

Loss::Loss(const std::string& name) {
  if (name == "crossentropy" || name == "ce")
    node_ = std::make_shared<AnyCrossentropy>(name);
  else if (const auto own = names().has(name) ? std::nullopt : registered_loss(name))
    *this = *own;
  else
    *this = names().make(name);
}

Loss::Loss(Function function, const FunctionLossConfig& config) {
  check_is_function(function, "Loss");
  node_ = std::make_shared<FunctionLoss>(std::move(function), config);
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  const auto [target, prediction] = in_loss_dtype(node(), y_true, y_pred);
  Tensor values = per_sample_of(node(), target, prediction);
  if (values.rank() == 0) return weighted_scalar(values, sample_weight, node().reduction());
  Tensor weights;
  if (sample_weight.defined()) {
    weights = fitting_weights(sample_weight, values, name());
    values = values * weights;
  }
  const Reduction reduction = node().reduction();
  if (reduction == Reduction::none) return values;
  const Tensor sum = ops::sum(values);
  if (reduction == Reduction::sum) return sum;
  const bool by_weight = reduction == Reduction::mean_with_sample_weight;
  if (const Tensor mask = node().valid_mask(target, prediction); mask.defined()) {
    const Tensor counted = ops::cast(mask, values.dtype());
    return divide_no_nan(sum, ops::sum(by_weight && weights.defined() ? weights * counted : counted));
  }
  if (by_weight && weights.defined()) return divide_no_nan(sum, ops::sum(weights));
  return sum * (values.num_elements() > 0 ? 1.0 / static_cast<double>(values.num_elements()) : 0.0);
}

std::pair<Tensor, Tensor> detail::in_loss_dtype(const LossNode& loss, const Tensor& y_true,
                                                const Tensor& y_pred) {
  if (loss.takes_any_dtype()) return {y_true, at_least_float32(y_pred)};
  const DType dtype = y_pred.dtype() == DType::float64 ? DType::float64 : DType::float32;
  return {ops::cast(y_true, dtype), ops::cast(y_pred, dtype)};
}

std::pair<Tensor, Tensor> detail::fit_ranks(const Tensor& a, const Tensor& b) {
  if (a.rank() == b.rank() + 1 && a.shape().back() == 1) {
    if (b.rank() == 1) return {a, ops::expand_dims(b, -1)};
    return {ops::squeeze(a, {-1}), b};
  }
  if (b.rank() == a.rank() + 1 && b.shape().back() == 1) {
    if (a.rank() == 1) return {ops::expand_dims(a, -1), b};
    return {a, ops::squeeze(b, {-1})};
  }
  return {a, b};
}

Tensor detail::fit_rank(const Tensor& y_true, const Tensor& y_pred) {
  if (y_true.rank() == y_pred.rank() + 1 && y_true.shape().back() == 1) return ops::squeeze(y_true, {-1});
  if (y_pred.rank() == y_true.rank() + 1 && y_pred.shape().back() == 1) return ops::expand_dims(y_true, -1);
  return y_true;
}

TargetKind detail::target_kind(const Shape& y_true, const Shape& y_pred) {
  const int64_t last_true = y_true.rank() > 0 ? y_true.back() : 1,
                last_pred = y_pred.rank() > 0 ? y_pred.back() : 1;
  if (last_pred == 1) return TargetKind::binary;
  return y_true.rank() < y_pred.rank() || last_true == 1 ? TargetKind::sparse : TargetKind::categorical;
}

}  // namespace nyala
