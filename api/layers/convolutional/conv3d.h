#pragma once

#include <nyala/api/layers/convolutional/convolution_config.h>

namespace nyala {

/// Conv2D of volumes: input (batch, depth, height, width, in), kernel (depth, rows, columns, in / groups,
/// filters), output (batch, out depth, out height, out width, filters).
class Conv3D : public Layer {
 public:
  using Config = Conv3DConfig;
  /// Throws as Conv2D.
  explicit Conv3D(const Config& config);
  template <size_t N>
  explicit Conv3D(const NoSuchField (&)[N]) = delete;
  Conv3D(int64_t filters, Size3D kernel_size, Config config = {});
  template <size_t N>
  Conv3D(int64_t, Size3D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
