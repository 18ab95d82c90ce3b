#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct CenterCropConfig {
  NamesRequired names_required = NamesRequired();
  int64_t height = 0;  // Keras has no default
  int64_t width = 0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// The middle of images. Images that are too small are instead cut to the proportions wanted and resized
/// (bilinear). Integers become floats. Input (batch, height, width, channels), or one image.
class CenterCrop : public Layer {
 public:
  using Config = CenterCropConfig;
  /// Throws InvalidArgumentError unless both sizes are above 0.
  explicit CenterCrop(const Config& config);
  template <size_t N>
  explicit CenterCrop(const NoSuchField (&)[N]) = delete;
  CenterCrop(int64_t height, int64_t width, Config config = {});
  template <size_t N>
  CenterCrop(int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
