#pragma once

#include <filesystem>
#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

struct SaveImgConfig {
  /// Spreads the values so that the smallest becomes 0 and the largest 255. False: values are 0..255 already,
  /// fractions are cut off and what lies outside becomes 0 or 255.
  bool scale = true;
  std::string file_format = {};  // "png", "jpeg", "jpg" or "bmp"; nothing: by the path's ending
  int quality = 75;              // of JPEG, 1 to 100
};

/// Writes (height, width, channels) of any dtype, channels 1, 3 or 4, as a PNG, JPEG or BMP file; written
/// beside the target and renamed. JPEG has no transparency: that is dropped with a warning. Throws ShapeError
/// for other shapes or an image without pixels, NumericError for values that are not finite,
/// InvalidArgumentError for an unknown format or quality, IoError naming the path when it cannot be written.
void save_img(const std::filesystem::path& path, const Tensor& image, const SaveImgConfig& config = {});

}  // namespace nyala
