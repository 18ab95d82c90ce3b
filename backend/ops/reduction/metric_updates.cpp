// One op turns a batch into the two sums that a mean needs, in double: the weighted total and the weights'
// sum, both per sample as Keras' Mean counts them. So no tensor of the batch's size is made in between, and
// the result is two numbers. A label is in the top k if fewer than k scores are larger, as TensorFlow's
// in_top_k: no sorting, and a score that is not finite is a miss.
#include <algorithm>
#include <cmath>

#include <nyala/backend/ops/reduction/metric_update_support.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

/// Elements of one sample.
double sample_size(const Shape& shape) {
  return shape.rank() > 1 ? static_cast<double>(shape.slice(1, shape.rank()).num_elements()) : 1.0;
}

/// The sum of weights in samples.
double weight_count(const KernelCall& call, size_t input, const Shape& values) {
  if (call.inputs.size() <= input) return values.rank() > 0 ? static_cast<double>(values.front()) : 1.0;
  double sum = 0.0;
  for (int64_t i = 0; i < call.input(input).num_elements(); ++i) sum += call.in<double>(input)[i];
  return sum / sample_size(call.input(input).shape());
}

/// Writes the sums of a mean over value(i) of `shape`; the weights are input `input`.
template <class Value>
void write_mean(const KernelCall& call, const Shape& shape, size_t input, Value&& value) {
  const int64_t count = shape.num_elements();
  const detail::MetricWeights weights(call, input, count);
  double total = 0.0;
  for (int64_t i = 0; i < count; ++i) total += value(i) * weights[i];
  call.out<double>(0)[0] = count > 0 ? total / sample_size(shape) : 0.0;
  call.out<double>(0)[1] = weight_count(call, input, shape);
}

void infer_mean_update(InferContext& c) {
  detail::check_metric_weights(c, 1, c.shape(0));
  c.output(0, {c.descriptor<MeanUpdateDescriptor>().sum ? 1 : 2}, DType::float64);
}

void mean_update_reference(const KernelCall& call) {
  const Shape& shape = call.input(0).shape();
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* values = call.in<T>(0);
    if (!call.descriptor<MeanUpdateDescriptor>().sum)
      return write_mean(call, shape, 1, [values](int64_t i) { return static_cast<double>(values[i]); });
    const detail::MetricWeights weights(call, 1, shape.num_elements());
    double total = 0.0;
    for (int64_t i = 0; i < shape.num_elements(); ++i) total += static_cast<double>(values[i]) * weights[i];
    call.out<double>(0)[0] = total;
  });
}

void infer_match(InferContext& c) {
  detail::check_metric_pair(c);
  c.output(0, {2}, DType::float64);
}

void match_reference(const KernelCall& call) {
  const auto& d = call.descriptor<MatchDescriptor>();
  detail::dispatch_metric_targets(call, [&]<class L, class T>(L, T) {
    const L* y_true = call.in<L>(0);
    const T* y_pred = call.in<T>(1);
    write_mean(call, call.input(1).shape(), 2, [&](int64_t i) {
      const bool match = d.thresholded ? static_cast<L>(y_pred[i] > static_cast<T>(d.threshold)) == y_true[i]
                                       : static_cast<T>(y_true[i]) == y_pred[i];
      return match ? 1.0 : 0.0;
    });
  });
}

void infer_label_hits(InferContext& c) {
  const Shape& scores = c.shape(1);
  if (scores.rank() < 1 || !is_floating(c.dtype(1)))
    c.fail("expected scores (..., classes), received " + scores.to_string());
  const Shape rows = scores.slice(0, scores.rank() - 1);
  Shape with_axis = rows;
  with_axis.append(1);
  if (!matches(c.shape(0), rows) && !matches(c.shape(0), with_axis))
    c.fail("expected labels of shape " + rows.to_string() + " for scores " + scores.to_string() +
           ", received " + c.shape(0).to_string());
  detail::check_metric_weights(c, 2, rows);
  c.output(0, {2}, DType::float64);
}

/// The index of the first largest score; NaN is chosen only where there is nothing else.
template <class T>
int64_t first_largest(const T* scores, int64_t classes) {
  int64_t best = 0;
  for (int64_t i = 1; i < classes; ++i)
    if (scores[i] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[i]))) best = i;
  return best;
}

template <class T>
bool in_top(const T* scores, int64_t classes, double label, int64_t k) {
  if (!(label >= 0 && label < static_cast<double>(classes))) return false;
  const T own = scores[static_cast<int64_t>(label)];
  int64_t larger = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(scores[i])) return false;
    larger += scores[i] > own ? 1 : 0;
  }
  return larger < k;
}

void label_hits_reference(const KernelCall& call) {
  const int64_t k = call.descriptor<LabelHitsDescriptor>().k;
  const Shape& scores = call.input(1).shape();
  const int64_t classes = scores.back();
  detail::dispatch_metric_targets(call, [&]<class L, class T>(L, T) {
    write_mean(call, scores.slice(0, scores.rank() - 1), 2, [&](int64_t row) {
      const T* of_row = call.in<T>(1) + row * classes;
      const double label = static_cast<double>(call.in<L>(0)[row]);
      const bool hit = k > 0 ? in_top(of_row, classes, label, k)
                             : classes > 0 && label == static_cast<double>(first_largest(of_row, classes));
      return hit ? 1.0 : 0.0;
    });
  });
}

}  // namespace

// Even of nothing there are sums: zeros.
const OpDef kMeanUpdate = {
    .name = "mean_update", .infer = infer_mean_update, .reference = mean_update_reference};
const OpDef kMatchUpdate = {.name = "match_update", .infer = infer_match, .reference = match_reference};
const OpDef kLabelHitsUpdate = {
    .name = "label_hits_update", .infer = infer_label_hits, .reference = label_hits_reference};

Tensor mean_update(const Tensor& values, const Tensor& weights) {
  return detail::run_metric_update(kMeanUpdate, MeanUpdateDescriptor{}, {&values}, weights);
}

Tensor sum_update(const Tensor& values, const Tensor& weights) {
  return detail::run_metric_update(kMeanUpdate, MeanUpdateDescriptor{.sum = true}, {&values}, weights);
}

Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) {
  const Tensor predicted = detail::floating_metric_values(y_pred);
  return detail::run_metric_update(kMatchUpdate, MatchDescriptor{}, {&y_true, &predicted}, weights);
}

Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights, double threshold) {
  const Tensor predicted = detail::floating_metric_values(y_pred);
  const MatchDescriptor descriptor{.thresholded = true, .threshold = static_cast<float>(threshold)};
  return detail::run_metric_update(kMatchUpdate, descriptor, {&y_true, &predicted}, weights);
}

Tensor label_hits_update(const Tensor& labels, const Tensor& scores, const Tensor& weights, int64_t k) {
  const Tensor floating_scores = detail::floating_metric_values(scores);
  return detail::run_metric_update(kLabelHitsUpdate, LabelHitsDescriptor{k}, {&labels, &floating_scores},
                                   weights);
}

}  // namespace nyala::ops
