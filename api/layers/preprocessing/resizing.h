#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ResizingConfig {
  NamesRequired names_required = NamesRequired();
  int64_t height = 0;  // Keras has no default
  int64_t width = 0;
  std::string interpolation = "bilinear";  // "nearest", "bicubic", "lanczos3", "lanczos5", "area"
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  std::string fill_mode = "constant";
  double fill_value = 0.0;
  bool antialias = false;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Images of another height and width, by ops::resize_images. Where the proportions differ they are
/// stretched, or first cut in the middle, or first padded with `fill_value`. Integers stay integers. Input
/// (batch, height, width, channels), or one image.
class Resizing : public Layer {
 public:
  using Config = ResizingConfig;
  /// Throws InvalidArgumentError unless both sizes are above 0, the interpolation is known, fill_mode is
  /// "constant" and not both of crop_to_aspect_ratio and pad_to_aspect_ratio are asked for.
  explicit Resizing(const Config& config);
  template <size_t N>
  explicit Resizing(const NoSuchField (&)[N]) = delete;
  Resizing(int64_t height, int64_t width, Config config = {});
  template <size_t N>
  Resizing(int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
