#pragma once

#include <nyala/api/layers/convolutional/conv_transpose_config.h>

namespace nyala {

/// Conv2DTranspose of sequences: input (batch, steps, in), kernel (size, filters, in).
class Conv1DTranspose : public Layer {
 public:
  using Config = Conv1DTransposeConfig;
  /// Throws as Conv2DTranspose.
  explicit Conv1DTranspose(const Config& config);
  template <size_t N>
  explicit Conv1DTranspose(const NoSuchField (&)[N]) = delete;
  Conv1DTranspose(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  Conv1DTranspose(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
