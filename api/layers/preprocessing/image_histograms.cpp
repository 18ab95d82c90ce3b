#include <nyala/api/layers/preprocessing/image_histograms.h>

#include <limits>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/scatter_into.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

namespace {

/// Where values (..., channels) stand in (channels, bins) as one axis.
Tensor entries(const Tensor& values, int64_t bins) {
  const int64_t channels = values.shape().back();
  const Tensor first =
      ops::arange(0.0, static_cast<double>(channels * bins),
                  {.step = static_cast<double>(bins), .dtype = DType::int32, .device = values.device()});
  return ops::cast(values, DType::int32) + first;
}

}  // namespace

Tensor detail::histograms(const Tensor& values, int64_t bins) {
  const int64_t channels = values.shape().back();
  const Tensor counts = ops::zeros({channels * bins}, DType::int32, values.device());
  const Tensor ones = ops::ones({values.num_elements()}, DType::int32, values.device());
  ops::detail::scatter_into(counts, ops::ScatterKind::add, ops::ravel(entries(values, bins)), ones);
  return ops::reshape(counts, {1, channels, bins});
}

Tensor detail::running_counts(const Tensor& counts) {
  const int64_t bins = counts.shape().back();
  const Tensor places =
      ops::arange(0.0, static_cast<double>(bins), {.dtype = DType::int32, .device = counts.device()});
  const Tensor not_above = ops::expand_dims(places, 1) <= ops::expand_dims(places, 0);
  const Tensor rows = ops::reshape(ops::cast(counts, DType::float64), {-1, bins});
  return ops::reshape(ops::matmul(rows, ops::cast(not_above, DType::float64)), counts.shape());
}

Tensor detail::equalizing_tables(const Tensor& counts) {
  const Tensor sums = running_counts(counts);
  const Tensor least =
      ops::min(ops::where(sums > 0.0, sums, std::numeric_limits<double>::infinity()), {-1}, true);
  const Tensor rest = ops::slice_axis(sums, -1, {-1}) - least;
  const Tensor parts = ops::cast((sums - least) * 255.0, DType::float32) /
                       ops::cast(ops::where(rest == 0.0, 1.0, rest), DType::float32);
  return ops::clip(ops::round(parts), 0.0, 255.0);
}

Tensor detail::looked_up_in(const Tensor& tables, const Tensor& values) {
  return ops::take(ops::ravel(tables), entries(values, tables.shape().back()));
}

}  // namespace nyala
