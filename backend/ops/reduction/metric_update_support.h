#pragma once

#include <algorithm>

#include <nyala/backend/core/op.h>

// What the ops of metric_updates.h and confusion_updates.h share.
namespace nyala::ops::detail {

/// The weight of value i, where each of a few weights belongs to `span` values in a row.
class MetricWeights {
 public:
  MetricWeights(const KernelCall& call, size_t input, int64_t num_values) {
    if (call.inputs.size() <= input) return;
    values_ = call.in<double>(input);
    span_ = std::max<int64_t>(num_values / std::max<int64_t>(call.input(input).num_elements(), 1), 1);
  }
  double operator[](int64_t i) const { return values_ ? values_[i / span_] : 1.0; }

 private:
  const double* values_ = nullptr;
  int64_t span_ = 1;
};

/// Fails unless input `input`, where there is one, is float64 of a shape that `values` begins with.
void check_metric_weights(InferContext& c, size_t input, const Shape& values);

/// Fails unless y_true (input 0) and y_pred (1, floating) have one shape and the weights (2) fit it.
void check_metric_pair(InferContext& c);

/// Calls body(L{}, T{}) for the dtypes of targets (input 0) and predictions (input 1).
template <class Body>
void dispatch_metric_targets(const KernelCall& call, Body&& body) {
  nyala::detail::dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class L>(L l) {
    nyala::detail::dispatch_real(call.input(1).dtype(), call.op->name, [&]<class T>(T t) { body(l, t); });
  });
}

/// Dispatches `op`, with the weights as the last input where there are any.
Tensor run_metric_update(const OpDef& op, const Descriptor& descriptor,
                         std::initializer_list<const Tensor*> inputs, const Tensor& weights);

/// x, as float64 where it is of no floating dtype.
Tensor floating_metric_values(const Tensor& x);

}  // namespace nyala::ops::detail
