#pragma once

#include <vector>

#include <nyala/api/layers/base/trailing_axes.h>

namespace nyala {

/// Mean and variance of batches that come one after the other, in double, on the host (Chan et al. 1979).
class RunningMoments {
 public:
  /// Statistics for each entry of `kept` axes.
  explicit RunningMoments(std::vector<int> kept) : kept_(std::move(kept)) {}

  /// Adds all values of a batch. Throws ShapeError where its kept axes differ from the first batch's.
  void add(const Tensor& batch);

  double count() const { return count_; }
  const std::vector<double>& mean() const { return mean_; }
  /// Divided by the number of values.
  std::vector<double> variance() const;

 private:
  std::vector<int> kept_;
  Shape sizes_;
  double count_ = 0.0;
  std::vector<double> mean_, squares_;
};

}  // namespace nyala
