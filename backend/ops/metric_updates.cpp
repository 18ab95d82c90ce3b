#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/metric_updates.h>

namespace nyala::ops {

namespace {

/// The weight of value i, where each of a few weights belongs to `span` values in a row.
class Weights {
 public:
  Weights(const KernelCall& call, size_t input, int64_t num_values) {
    if (call.inputs.size() <= input) return;
    values_ = call.in<double>(input);
    span_ = std::max<int64_t>(num_values / std::max<int64_t>(call.input(input).num_elements(), 1), 1);
  }
  double operator[](int64_t i) const { return values_ ? values_[i / span_] : 1.0; }

 private:
  const double* values_ = nullptr;
  int64_t span_ = 1;
};

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
  const Weights weights(call, input, count);
  double total = 0.0;
  for (int64_t i = 0; i < count; ++i) total += value(i) * weights[i];
  call.out<double>(0)[0] = count > 0 ? total / sample_size(shape) : 0.0;
  call.out<double>(0)[1] = weight_count(call, input, shape);
}

void check_weights(InferContext& c, size_t input, const Shape& values) {
  if (c.num_inputs() <= input) return;
  const Shape& weights = c.shape(input);
  if (c.dtype(input) != DType::float64 || weights.rank() > values.rank() ||
      !matches(weights, values.slice(0, weights.rank())))
    c.fail("expected float64 weights of a shape that " + values.to_string() + " begins with, received " +
           weights.to_string());
}

void infer_mean(InferContext& c) {
  check_weights(c, 1, c.shape(0));
  c.output(0, {c.descriptor<MeanUpdateDescriptor>().sum ? 1 : 2}, DType::float64);
}

void mean_reference(const KernelCall& call) {
  const Shape& shape = call.input(0).shape();
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* values = call.in<T>(0);
    if (!call.descriptor<MeanUpdateDescriptor>().sum)
      return write_mean(call, shape, 1, [values](int64_t i) { return static_cast<double>(values[i]); });
    const Weights weights(call, 1, shape.num_elements());
    double total = 0.0;
    for (int64_t i = 0; i < shape.num_elements(); ++i) total += static_cast<double>(values[i]) * weights[i];
    call.out<double>(0)[0] = total;
  });
}

void infer_match(InferContext& c) {
  if (!matches(c.shape(0), c.shape(1)) || !is_floating(c.dtype(1)))
    c.fail("expected y_true and y_pred of one shape, received " + c.shape(0).to_string() + " and " +
           c.shape(1).to_string());
  check_weights(c, 2, c.shape(1));
  c.output(0, {2}, DType::float64);
}

/// Calls body(L{}, T{}) for the dtypes of targets (input 0) and predictions (input 1).
template <class Body>
void dispatch_targets(const KernelCall& call, Body&& body) {
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class L>(L l) {
    dispatch_real(call.input(1).dtype(), call.op->name, [&]<class T>(T t) { body(l, t); });
  });
}

void match_reference(const KernelCall& call) {
  const auto& d = call.descriptor<MatchDescriptor>();
  dispatch_targets(call, [&]<class L, class T>(L, T) {
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
  check_weights(c, 2, rows);
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
  dispatch_targets(call, [&]<class L, class T>(L, T) {
    write_mean(call, scores.slice(0, scores.rank() - 1), 2, [&](int64_t row) {
      const T* of_row = call.in<T>(1) + row * classes;
      const double label = static_cast<double>(call.in<L>(0)[row]);
      const bool hit = k > 0 ? in_top(of_row, classes, label, k)
                             : classes > 0 && label == static_cast<double>(first_largest(of_row, classes));
      return hit ? 1.0 : 0.0;
    });
  });
}

void infer_confusion(InferContext& c) {
  const auto& d = c.descriptor<ConfusionDescriptor>();
  infer_match(c);
  const Shape& shape = c.shape(1);
  const bool picks = d.top_k > 0 || d.class_id >= 0;
  if (picks && shape.rank() < 1) c.fail("expected y_pred (..., classes), received " + shape.to_string());
  if (picks && shape.back() != None && d.class_id >= shape.back())
    c.fail("class_id " + std::to_string(d.class_id) + " is outside y_pred " + shape.to_string());
  if (picks && shape.back() != None && d.top_k > shape.back())
    c.fail("top_k " + std::to_string(d.top_k) + " is more than the classes of y_pred " + shape.to_string());
  c.output(0, {2 * static_cast<int64_t>(d.num_thresholds)}, DType::float64);
}

/// Whether x[i] is among the k largest, of equal ones the first.
template <class T>
bool among_largest(const T* x, int64_t count, int64_t i, int64_t k) {
  int64_t before = 0;
  for (int64_t j = 0; j < count && before < k; ++j) before += x[j] > x[i] || (x[j] == x[i] && j < i) ? 1 : 0;
  return before < k;
}

/// Adds one prediction to the counts of all thresholds.
void count_prediction(const ConfusionDescriptor& d, bool positive, double score, double weight,
                      double* counts) {
  for (int32_t t = 0; t < d.num_thresholds; ++t) {
    const bool predicted = score > static_cast<double>(d.thresholds[static_cast<size_t>(t)]);
    if (positive && predicted)
      counts[2 * t] += weight;
    else if (d.missed ? positive : predicted)
      counts[2 * t + 1] += weight;
  }
}

void confusion_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ConfusionDescriptor>();
  const Shape& shape = call.input(1).shape();
  const int64_t count = shape.num_elements(),
                row_size = shape.rank() > 0 ? std::max<int64_t>(shape.back(), 1) : 1;
  const Weights weights(call, 2, count);
  double* counts = call.out<double>(0);
  std::fill_n(counts, 2 * d.num_thresholds, 0.0);
  dispatch_targets(call, [&]<class L, class T>(L, T) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t column = i % row_size;
      if (d.class_id >= 0 && column != d.class_id) continue;
      const bool taken = d.top_k <= 0 || among_largest(call.in<T>(1) + i - column, row_size, column, d.top_k);
      // Keras puts -1e10 in the place of what is not among the top k, which is also the threshold then.
      const double score = taken ? static_cast<double>(call.in<T>(1)[i]) : -1e10;
      count_prediction(d, call.in<L>(0)[i] != L(0), score, weights[i], counts);
    }
  });
}

/// Dispatches with the weights as the last input where there are any.
Tensor run(const OpDef& op, const Descriptor& descriptor, std::initializer_list<const Tensor*> inputs,
           const Tensor& weights) {
  std::array<const Tensor*, 3> all{};
  size_t count = 0;
  for (const Tensor* input : inputs) all[count++] = input;
  Tensor as_double;
  if (weights.defined()) {
    as_double = cast(weights, DType::float64);
    all[count++] = &as_double;
  }
  Tensor output;
  dispatch(op, descriptor, TensorPointers(all.data(), count), std::span(&output, 1));
  return output;
}

Tensor floating(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::float64); }

}  // namespace

// Even of nothing there are sums: zeros.
const OpDef kMeanUpdate = {.name = "mean_update", .infer = infer_mean, .reference = mean_reference};
const OpDef kMatchUpdate = {.name = "match_update", .infer = infer_match, .reference = match_reference};
const OpDef kLabelHitsUpdate = {
    .name = "label_hits_update", .infer = infer_label_hits, .reference = label_hits_reference};
const OpDef kConfusionUpdate = {
    .name = "confusion_update", .infer = infer_confusion, .reference = confusion_reference};

Tensor mean_update(const Tensor& values, const Tensor& weights) {
  return run(kMeanUpdate, MeanUpdateDescriptor{}, {&values}, weights);
}

Tensor sum_update(const Tensor& values, const Tensor& weights) {
  return run(kMeanUpdate, MeanUpdateDescriptor{.sum = true}, {&values}, weights);
}

Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) {
  const Tensor predicted = floating(y_pred);
  return run(kMatchUpdate, MatchDescriptor{}, {&y_true, &predicted}, weights);
}

Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights, double threshold) {
  const Tensor predicted = floating(y_pred);
  const MatchDescriptor descriptor{.thresholded = true, .threshold = static_cast<float>(threshold)};
  return run(kMatchUpdate, descriptor, {&y_true, &predicted}, weights);
}

Tensor label_hits_update(const Tensor& labels, const Tensor& scores, const Tensor& weights, int64_t k) {
  const Tensor floating_scores = floating(scores);
  return run(kLabelHitsUpdate, LabelHitsDescriptor{k}, {&labels, &floating_scores}, weights);
}

Tensor confusion_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                        const ConfusionDescriptor& descriptor) {
  const Tensor predicted = floating(y_pred);
  return run(kConfusionUpdate, descriptor, {&y_true, &predicted}, weights);
}

}  // namespace nyala::ops
