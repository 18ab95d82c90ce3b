#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

enum class PoolingKind { maximum, average };

/// Of the layers that pool windows along N axes.
template <size_t N, PoolingKind kKind>
struct PoolingConfig {
  NamesRequired names_required = NamesRequired();
  Size<N> pool_size = kKind == PoolingKind::maximum ? Size<N>(2) : Size<N>::none();
  Size<N> strides = Size<N>::none();  // not given: pool_size
  std::string padding = "valid";      // or "same"
  std::string data_format = {};       // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v) {
    detail::visit_size(v, "pool_size", pool_size);
    detail::visit_size(v, "strides", strides);
    v.field("padding", padding);
    v.field("data_format", data_format);
  }
};

using MaxPooling1DConfig = PoolingConfig<1, PoolingKind::maximum>;
using MaxPooling2DConfig = PoolingConfig<2, PoolingKind::maximum>;
using MaxPooling3DConfig = PoolingConfig<3, PoolingKind::maximum>;
using AveragePooling1DConfig = PoolingConfig<1, PoolingKind::average>;
using AveragePooling2DConfig = PoolingConfig<2, PoolingKind::average>;
using AveragePooling3DConfig = PoolingConfig<3, PoolingKind::average>;

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, steps, channels).
class MaxPooling1D : public Layer {
 public:
  using Config = MaxPooling1DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling1D(const Config& config = {});
  explicit MaxPooling1D(Size1D pool_size, Config config = {});
};

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, height, width, channels).
class MaxPooling2D : public Layer {
 public:
  using Config = MaxPooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling2D(const Config& config = {});
  explicit MaxPooling2D(Size2D pool_size, Config config = {});
};

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, depth, height, width, channels).
class MaxPooling3D : public Layer {
 public:
  using Config = MaxPooling3DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling3D(const Config& config = {});
  explicit MaxPooling3D(Size3D pool_size, Config config = {});
};

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, steps, channels).
class AveragePooling1D : public Layer {
 public:
  using Config = AveragePooling1DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling1D(const Config& config);
  explicit AveragePooling1D(Size1D pool_size, Config config = {});
};

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, height, width, channels).
class AveragePooling2D : public Layer {
 public:
  using Config = AveragePooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling2D(const Config& config);
  explicit AveragePooling2D(Size2D pool_size, Config config = {});
};

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, depth, height, width, channels).
class AveragePooling3D : public Layer {
 public:
  using Config = AveragePooling3DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling3D(const Config& config);
  explicit AveragePooling3D(Size3D pool_size, Config config = {});
};

}  // namespace nyala
