#pragma once

#include <nyala/api/layers/convolutional/convolution_config.h>

namespace nyala {

/// Conv2D of sequences: input (batch, steps, in), kernel (size, in / groups, filters), output (batch, out
/// steps, filters). Padding "causal" puts all zeros in front, so that no step sees a later one.
class Conv1D : public Layer {
 public:
  using Config = Conv1DConfig;
  /// Throws as Conv2D.
  explicit Conv1D(const Config& config);
  template <size_t N>
  explicit Conv1D(const NoSuchField (&)[N]) = delete;
  Conv1D(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  Conv1D(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
