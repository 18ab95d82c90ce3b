#pragma once

#include <nyala/api/layers/convolutional/conv_transpose_config.h>

namespace nyala {

/// Conv2DTranspose of volumes: input (batch, depth, height, width, in), kernel (depth, rows, columns,
/// filters, in).
class Conv3DTranspose : public Layer {
 public:
  using Config = Conv3DTransposeConfig;
  /// Throws as Conv2DTranspose.
  explicit Conv3DTranspose(const Config& config);
  template <size_t N>
  explicit Conv3DTranspose(const NoSuchField (&)[N]) = delete;
  Conv3DTranspose(int64_t filters, Size3D kernel_size, Config config = {});
  template <size_t N>
  Conv3DTranspose(int64_t, Size3D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
