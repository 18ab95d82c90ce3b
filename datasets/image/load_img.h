#pragma once

#include <filesystem>
#include <string>

#include <nyala/backend/core/tensor.h>
#include <nyala/datasets/image/image_size.h>

namespace nyala {

struct LoadImgConfig {
  std::string color_mode = "rgb";         // "rgba", "grayscale"
  ImageSize target_size = {};             // {height, width}; nothing: as in the file
  std::string interpolation = "nearest";  // "bilinear", "bicubic", "lanczos", "hamming", "box"
  bool keep_aspect_ratio = false;         // cuts out the middle in the target's proportions first
  std::string dtype = "float32";          // or "uint8"
};

/// A picture from a JPEG, PNG, BMP or GIF file: what Keras' img_to_array(load_img(path)) gives.
/// Returns (height, width, channels), 0..255, channels 3, 4 or 1 by the colour mode, float32 by default; add
/// the batch's axis with ops::expand_dims(image, 0). Resizes as Pillow does (pillow_resize.h), whose filters
/// look at all pixels when an image shrinks; ops::resize_images, the layer Resizing and
/// image_dataset_from_directory resize as tf.image does. Throws IoError or FileFormatError naming the path,
/// InvalidArgumentError for an unknown colour mode or interpolation, another dtype or a size below 1.
Tensor load_img(const std::filesystem::path& path, const LoadImgConfig& config = {});

}  // namespace nyala
