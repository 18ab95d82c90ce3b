#pragma once

#include <nyala/backend/core/tensor.h>

/// How often values occur in the channels of images, and tables made of it. Nothing here has a slope.
namespace nyala::detail {

/// Of values (..., channels) that are whole numbers from 0 to bins - 1: (1, channels, bins), int32.
Tensor histograms(const Tensor& values, int64_t bins);

/// The running sums of counts along the last axis, float64.
Tensor running_counts(const Tensor& counts);

/// For counts (channels, bins): what equalization makes of each bin, whole numbers from 0 to 255 of float32.
Tensor equalizing_tables(const Tensor& counts);

/// For values (..., channels) as for histograms(), their entries in tables (channels, bins).
Tensor looked_up_in(const Tensor& tables, const Tensor& values);

}  // namespace nyala::detail
