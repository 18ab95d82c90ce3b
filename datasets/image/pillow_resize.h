#pragma once

#include <cstdint>
#include <string_view>

#include <nyala/backend/core/tensor.h>
#include <nyala/datasets/image/image_size.h>

namespace nyala {

enum class PillowFilter : uint8_t { nearest, box, bilinear, hamming, bicubic, lanczos };

/// By the name that Keras' load_img knows. Throws InvalidArgumentError with the names there are.
PillowFilter pillow_filter_of(std::string_view name);

/// The part of an image that is resized, in pixels.
struct PillowBox {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

/// uint8 (height, width, channels) -> uint8 of another size, with the numbers of Image.resize of Pillow
/// before version 13 (which takes the rows first where that is less work, and rounds other numbers): filters
/// widen where the image shrinks, so that each pixel counts, in fixed point with 22 bits, columns first, the
/// result of each pass rounded to 8 bits. Colours with transparency are weighted by it and divided again, as
/// Pillow does for RGBA. (Formula: Pillow, src/libImaging/Resample.c and Geometry.c.) Throws ShapeError for
/// an image without pixels, DTypeError, and InvalidArgumentError for a size below 1 or a box that does not
/// lie inside.
Tensor pillow_resize(const Tensor& image, const ImageSize& size, PillowFilter filter, const PillowBox& box);

}  // namespace nyala
