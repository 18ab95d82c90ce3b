// Keras' Discretization: a summary is values with weights, at most about 1 / epsilon of them. New values are
// sorted, every (n epsilon)th is kept and stands for those before it, both lists are merged, and the whole is
// interpolated at even shares of the weight where it has grown too long. In float32 as there, so that
// boundaries are the same.
#include <nyala/api/layers/preprocessing/quantile_summary.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nyala {

namespace {

/// numpy.interp: the line through the points (x, y) at `at`, level outside.
double interpolated(double at, const std::vector<float>& x, const std::vector<float>& y) {
  if (at <= static_cast<double>(x.front())) return static_cast<double>(y.front());
  if (at >= static_cast<double>(x.back())) return static_cast<double>(y.back());
  const size_t right = static_cast<size_t>(
      std::upper_bound(x.begin(), x.end(), at, [](double a, float b) { return a < static_cast<double>(b); }) -
      x.begin());
  const double low = static_cast<double>(x[right - 1]), high = static_cast<double>(x[right]);
  const double from = static_cast<double>(y[right - 1]), to = static_cast<double>(y[right]);
  return from + (to - from) / (high - low) * (at - low);
}

}  // namespace

void QuantileSummary::add(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon_), 1.0);
  std::vector<float> merged, weights;
  for (size_t i = static_cast<size_t>(step - 1.0); i < values.size(); i += static_cast<size_t>(step)) {
    merged.push_back(values[i]);
    weights.push_back(static_cast<float>(step));
  }
  merged.insert(merged.end(), values_.begin(), values_.end());
  weights.insert(weights.end(), weights_.begin(), weights_.end());
  std::vector<size_t> order(merged.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return merged[a] < merged[b]; });
  values_.resize(order.size());
  weights_.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    values_[i] = merged[order[i]];
    weights_[i] = weights[order[i]];
  }
  compress(epsilon_);
}

void QuantileSummary::compress(double epsilon) {
  if (static_cast<double>(values_.size()) * epsilon < 1.0) return;
  std::vector<float> sums(weights_.size()), shares(weights_.size());
  std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
  for (size_t i = 0; i < sums.size(); ++i) shares[i] = sums[i] / sums.back();
  const size_t count = static_cast<size_t>(std::ceil(1.0 / epsilon));
  std::vector<float> values(count), weights(count);
  double before = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const double share = epsilon + static_cast<double>(i) * epsilon;
    values[i] = static_cast<float>(interpolated(share, shares, values_));
    const double sum = interpolated(share, shares, sums);
    weights[i] = static_cast<float>(sum - before);
    before = sum;
  }
  values_ = std::move(values);
  weights_ = std::move(weights);
}

std::vector<double> QuantileSummary::boundaries(int64_t bins) const {
  QuantileSummary coarse = *this;
  coarse.compress(1.0 / static_cast<double>(bins));
  if (coarse.values_.empty()) return {};
  return {coarse.values_.begin(), coarse.values_.end() - 1};
}

}  // namespace nyala
