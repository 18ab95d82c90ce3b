#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// Of the layers that pool all that lies between batch and channels.
struct GlobalPoolingConfig {
  std::string data_format = {};  // "channels_last", or "channels_first"
  bool keepdims = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// The largest value of each channel. Input (batch, steps, channels), output (batch, channels), or (batch, 1,
/// channels) with keepdims.
class GlobalMaxPooling1D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalMaxPooling1D(const Config& config = {});
  template <size_t N>
  explicit GlobalMaxPooling1D(const NoSuchField (&)[N]) = delete;
};

/// The largest value of each channel. Input (batch, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, channels) with keepdims.
class GlobalMaxPooling2D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalMaxPooling2D(const Config& config = {});
  template <size_t N>
  explicit GlobalMaxPooling2D(const NoSuchField (&)[N]) = delete;
};

/// The largest value of each channel. Input (batch, depth, height, width, channels), output (batch,
/// channels), or (batch, 1, 1, 1, channels) with keepdims.
class GlobalMaxPooling3D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalMaxPooling3D(const Config& config = {});
  template <size_t N>
  explicit GlobalMaxPooling3D(const NoSuchField (&)[N]) = delete;
};

/// The mean of each channel. Input (batch, steps, channels), output (batch, channels), or (batch, 1,
/// channels) with keepdims.
/// Steps that a mask (batch, steps) leaves out do not count; a row without any gives NaN.
class GlobalAveragePooling1D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling1D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling1D(const NoSuchField (&)[N]) = delete;
};

/// The mean of each channel. Input (batch, height, width, channels), output (batch, channels), or (batch, 1,
/// 1, channels) with keepdims.
class GlobalAveragePooling2D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling2D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling2D(const NoSuchField (&)[N]) = delete;
};

/// The mean of each channel. Input (batch, depth, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, 1, channels) with keepdims.
class GlobalAveragePooling3D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling3D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling3D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
