#pragma once

#include <nyala/api/layers/convolutional/convolution_config.h>

namespace nyala {

/// activation(correlation with the kernel + bias). Input (batch, height, width, in), kernel (rows, columns,
/// in / groups, filters), output (batch, out height, out width, filters). "same" pads so that the output has
/// ceil(size / stride) rows and columns; an odd row or column is added at the end.
class Conv2D : public Layer {
 public:
  using Config = Conv2DConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides, dilation_rate and groups are above 0,
  /// groups divide filters, and strides or dilation_rate is 1.
  explicit Conv2D(const Config& config);
  template <size_t N>
  explicit Conv2D(const NoSuchField (&)[N]) = delete;
  Conv2D(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  Conv2D(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
