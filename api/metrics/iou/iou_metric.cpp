#include <cmath>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/iou/iou_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/confusion_updates.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

namespace {

constexpr int64_t kMostClasses = int64_t{1} << 28;

class IouNode final : public MetricNode {
 public:
  explicit IouNode(IouOptions options)
      : options_(std::move(options)), name_(options_.name, options_.class_name) {
    if (options_.num_classes < 0)
      throw InvalidArgumentError(class_name() + ": expected num_classes >= 1, received " +
                                 std::to_string(options_.num_classes));
    if (options_.num_classes > kMostClasses)
      throw InvalidArgumentError(
          class_name() + ": expected num_classes of at most " + std::to_string(kMostClasses) +
          " (as many counts squared are kept), received " + std::to_string(options_.num_classes));
    to_int(options_.axis, class_name() + ", axis");
    for (const int64_t id : options_.target_class_ids)
      if (options_.num_classes > 0 && (id < 0 || id >= options_.num_classes))
        throw InvalidArgumentError(class_name() + ": target class " + std::to_string(id) +
                                   " is outside [0, " + std::to_string(options_.num_classes) + ")");
  }
  std::string class_name() const override { return options_.class_name; }
  std::string name() const override { return name_.get(); }
  void fields(FieldVisitor& v) const override { options_.fields(v); }
  bool larger_is_better() const override { return true; }
  int64_t state_size() const override { return options_.num_classes * options_.num_classes; }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (options_.num_classes == 0)
      throw InvalidArgumentError(class_name() + ": the number of classes must be given: " + class_name() +
                                 "({.num_classes = 3})");
    const Collectives* const replica = thread_context().replica;
    if (!replica || is_within_rows(options_.axis) || (options_.sparse_y_true && options_.sparse_y_pred))
      return update_of_rows(y_true, y_pred, sample_weight);
    const Tensor target = of_all_replicas(y_true), prediction = of_all_replicas(y_pred),
                 weights = of_all_replicas(sample_weight);
    // They are the batch's pairs, and one replica lets them count.
    if (replica->replica_id() > 0) return Tensor::zeros({state_size()}, DType::float64, y_pred.device());
    return update_of_rows(target, prediction, weights);
  }

  double result(const std::vector<double>& sums) const override {
    double total = 0.0, present = 0.0;
    const bool all = options_.target_class_ids.empty();
    const int64_t targets =
        all ? options_.num_classes : static_cast<int64_t>(options_.target_class_ids.size());
    for (int64_t i = 0; i < targets; ++i) {
      const int64_t id = all ? i : options_.target_class_ids[static_cast<size_t>(i)];
      const auto at = [&](int64_t row, int64_t column) {
        const size_t place = static_cast<size_t>(row * options_.num_classes + column);
        return place < sums.size() ? sums[place] : 0.0;
      };
      double any = -at(id, id);
      for (int64_t other = 0; other < options_.num_classes; ++other) any += at(id, other) + at(other, id);
      if (any <= 1e-9) continue;
      total += at(id, id) / (any + kLossEpsilon);
      present += 1.0;
    }
    return total / (present + kLossEpsilon);
  }

 private:
  Tensor update_of_rows(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
    const int axis = static_cast<int>(options_.axis);
    const Tensor target = options_.sparse_y_true ? y_true : ops::argmax(y_true, axis);
    Tensor prediction = predicted(y_pred);
    if (prediction.num_elements() != target.num_elements()) throw_unequal(y_true, y_pred);
    if (prediction.shape() != target.shape()) prediction = prediction.with_shape(target.shape());
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, target.shape(), name()) : sample_weight;
    return ops::class_pairs_update(
        target, prediction, weights,
        {options_.num_classes, options_.ignore_class == kNoClass ? -1 : options_.ignore_class});
  }

  [[noreturn]] void throw_unequal(const Tensor& y_true, const Tensor& y_pred) const {
    std::string hint;
    if (options_.sparse_y_pred && y_pred.rank() > 0 && y_pred.shape().back() == options_.num_classes)
      hint = "; if y_pred has scores of the classes along its last axis, say .sparse_y_pred = false";
    if (options_.sparse_y_true && y_true.rank() > 0 && y_true.shape().back() == options_.num_classes)
      hint += "; if y_true is one-hot, say .sparse_y_true = false";
    throw ShapeError("metric " + in_quotes(name()) +
                     ": expected as many classes in y_pred as in y_true, received y_true " +
                     y_true.shape().to_string() + " and y_pred " + y_pred.shape().to_string() + hint);
  }

  Tensor predicted(const Tensor& y_pred) const {
    if (!options_.sparse_y_pred) return ops::argmax(y_pred, static_cast<int>(options_.axis));
    if (std::isnan(options_.threshold)) return y_pred;
    const Tensor scores = ops::cast(y_pred, DType::float32);
    const Tensor threshold = Tensor::full({}, options_.threshold, DType::float32, y_pred.device());
    return ops::cast(ops::greater_equal(scores, threshold), DType::float32);
  }

  IouOptions options_;
  AutomaticName name_;
};

}  // namespace

Metric detail::make_iou(IouOptions options) { return Metric(std::make_shared<IouNode>(std::move(options))); }

}  // namespace nyala::metrics
