// Counts of true and false positives and negatives at many thresholds. Where the thresholds are even, a
// score's place among them is computed and one bucket counted; running sums over the buckets at the end bring
// it to all other thresholds: O(n + thresholds) instead of O(n * thresholds), as Keras'
// update_confusion_matrix_variables does.
#include <algorithm>
#include <cmath>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/reduction/confusion_updates.h>
#include <nyala/backend/ops/reduction/metric_update_support.h>

namespace nyala::ops {

namespace {

void infer_confusion(InferContext& c) {
  const auto& d = c.descriptor<ConfusionDescriptor>();
  detail::check_metric_pair(c);
  const Shape& shape = c.shape(1);
  const bool picks = d.top_k > 0 || d.class_id >= 0 || d.by_label;
  if (picks && shape.rank() < 1) c.fail("expected y_pred (..., classes), received " + shape.to_string());
  if (picks && shape.back() != None && d.class_id >= shape.back())
    c.fail("class_id " + std::to_string(d.class_id) + " is outside y_pred " + shape.to_string());
  if (picks && shape.back() != None && d.top_k > shape.back())
    c.fail("top_k " + std::to_string(d.top_k) + " is more than the classes of y_pred " + shape.to_string());
  const int64_t labels = d.by_label ? shape.back() : 1;
  const int64_t counts = labels == None ? None : d.num_thresholds * labels * kConfusionCounts;
  c.output(0, {counts}, DType::float64);
}

/// Whether x[i] is among the k largest, of equal ones the first.
template <class T>
bool among_largest(const T* x, int64_t count, int64_t i, int64_t k) {
  int64_t before = 0;
  for (int64_t j = 0; j < count && before < k; ++j) before += x[j] > x[i] || (x[j] == x[i] && j < i) ? 1 : 0;
  return before < k;
}

/// The counts of one label; those of the next threshold are `stride` further.
struct Counts {
  enum { kTruePositive, kFalsePositive, kTrueNegative, kFalseNegative };
  double* first;
  int64_t stride;

  double& at(int64_t threshold, int which) const { return first[threshold * stride + which]; }

  void add(const ConfusionDescriptor& d, bool positive, float score, double weight) const {
    if (d.even) return add_even(d, positive, score, weight);
    for (int32_t t = 0; t < d.num_thresholds; ++t) {
      const bool predicted = score > d.thresholds[static_cast<size_t>(t)];
      at(t, which(positive, predicted)) += weight;
    }
  }

  static int which(bool positive, bool predicted) {
    if (predicted) return positive ? kTruePositive : kFalsePositive;
    return positive ? kFalseNegative : kTrueNegative;
  }

  // Only at the two thresholds between which the score lies: spread() brings it to the others. The place is
  // found as Keras does it, in float32.
  void add_even(const ConfusionDescriptor& d, bool positive, float score, double weight) const {
    const float clipped = score > 0.0f ? std::min(score, 1.0f) : 0.0f;  // a NaN becomes 0
    int64_t below = static_cast<int64_t>(std::ceil(clipped * static_cast<float>(d.num_thresholds - 1)));
    if (d.open_ends && score == score) below = std::max<int64_t>(below, 1);
    if (below > 0) at(below - 1, which(positive, true)) += weight;
    if (below < d.num_thresholds) at(below, which(positive, false)) += weight;
  }

  void spread(int64_t thresholds) const {
    for (int64_t t = thresholds - 1; t > 0; --t)
      for (const int which : {kTruePositive, kFalsePositive}) at(t - 1, which) += at(t, which);
    for (int64_t t = 1; t < thresholds; ++t)
      for (const int which : {kTrueNegative, kFalseNegative}) at(t, which) += at(t - 1, which);
  }
};

void confusion_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ConfusionDescriptor>();
  const Shape& shape = call.input(1).shape();
  const int64_t count = shape.num_elements(),
                row_size = shape.rank() > 0 ? std::max<int64_t>(shape.back(), 1) : 1;
  const detail::MetricWeights weights(call, 2, count);
  double* out = call.out<double>(0);
  std::fill_n(out, call.output(0).num_elements(), 0.0);
  const int64_t stride = call.output(0).num_elements() / std::max<int64_t>(d.num_thresholds, 1);
  detail::dispatch_metric_targets(call, [&]<class L, class T>(L, T) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t column = i % row_size;
      if (d.class_id >= 0 && column != d.class_id) continue;
      const bool taken = d.top_k <= 0 || among_largest(call.in<T>(1) + i - column, row_size, column, d.top_k);
      // Keras puts -1e10 in the place of what is not among the top k, which is also the threshold then.
      const float score = taken ? static_cast<float>(call.in<T>(1)[i]) : -1e10f;
      const Counts counts{out + (d.by_label ? column * kConfusionCounts : 0), stride};
      counts.add(d, call.in<L>(0)[i] != L(0), score, weights[i]);
    }
  });
  for (int64_t first = 0; d.even && first < stride; first += kConfusionCounts)
    Counts{out + first, stride}.spread(d.num_thresholds);
}

void infer_class_pairs(InferContext& c) {
  detail::check_metric_pair(c);
  const int64_t classes = c.descriptor<ClassPairsDescriptor>().num_classes;
  if (classes < 1) c.fail("expected num_classes >= 1, received " + std::to_string(classes));
  c.output(0, {classes * classes}, DType::float64);
}

void class_pairs_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ClassPairsDescriptor>();
  const int64_t count = call.input(1).num_elements();
  const detail::MetricWeights weights(call, 2, count);
  double* out = call.out<double>(0);
  std::fill_n(out, d.num_classes * d.num_classes, 0.0);
  const auto inside = [&d](double number) {
    return number > -1.0 && number < static_cast<double>(d.num_classes);
  };
  detail::dispatch_metric_targets(call, [&]<class L, class T>(L, T) {
    for (int64_t i = 0; i < count; ++i) {
      const double label = static_cast<double>(call.in<L>(0)[i]),
                   guess = static_cast<double>(call.in<T>(1)[i]);
      if (!inside(label) || !inside(guess)) continue;
      const int64_t row = static_cast<int64_t>(label), column = static_cast<int64_t>(guess);
      if (row != d.ignore_class) out[row * d.num_classes + column] += std::trunc(weights[i]);
    }
  });
}

}  // namespace

// Even of nothing there are sums: zeros.
const OpDef kConfusionUpdate = {
    .name = "confusion_update", .infer = infer_confusion, .reference = confusion_reference};
const OpDef kClassPairsUpdate = {
    .name = "class_pairs_update", .infer = infer_class_pairs, .reference = class_pairs_reference};

Tensor confusion_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                        const ConfusionDescriptor& descriptor) {
  const Tensor predicted = detail::floating_metric_values(y_pred);
  return detail::run_metric_update(kConfusionUpdate, descriptor, {&y_true, &predicted}, weights);
}

Tensor class_pairs_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                          const ClassPairsDescriptor& descriptor) {
  const Tensor predicted = detail::floating_metric_values(y_pred);
  return detail::run_metric_update(kClassPairsUpdate, descriptor, {&y_true, &predicted}, weights);
}

}  // namespace nyala::ops
