#include <nyala/api/layers/base/running_moments.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

void RunningMoments::add(const Tensor& batch) {
  const TrailingAxes axes(kept_, batch.shape());
  const Shape sizes = axes.sizes(batch.shape());
  const size_t entries = static_cast<size_t>(sizes.num_elements());
  if (mean_.empty()) {
    sizes_ = sizes;
    mean_.resize(entries);
    squares_.resize(entries);
  } else if (sizes != sizes_) {
    throw ShapeError("expected batches whose kept axes have the sizes " + sizes_.to_string() +
                     ", received a batch " + batch.shape().to_string());
  }
  if (batch.num_elements() == 0) return;
  const std::vector<double> values =
      axes.to_end(ops::cast(batch.detached(), DType::float64)).to_vector<double>();
  const double own = static_cast<double>(values.size() / entries);
  for (size_t entry = 0; entry < entries; ++entry) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = entry; i < values.size(); i += entries) sum += values[i];
    const double mean = sum / own, distance = mean - mean_[entry];
    for (size_t i = entry; i < values.size(); i += entries)
      squares += (values[i] - mean) * (values[i] - mean);
    squares_[entry] += squares + distance * distance * count_ * own / (count_ + own);
    mean_[entry] += distance * own / (count_ + own);
  }
  count_ += own;
}

std::vector<double> RunningMoments::variance() const {
  std::vector<double> variance = squares_;
  for (double& value : variance) value /= count_;
  return variance;
}

}  // namespace nyala
