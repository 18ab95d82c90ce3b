#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

struct DecodeImageConfig {
  /// 1 (grey), 3 (RGB) or 4 (RGBA); 0: as many as the file has, 1 to 4.
  int64_t channels = 0;
  /// The largest height * width that is decoded. The default is where Pillow suspects a decompression bomb.
  int64_t max_pixels = 178'956'970;
  /// What messages call the picture: a path.
  std::string name = "image";
};

/// The picture that JPEG (baseline and progressive, also CMYK), PNG, BMP or GIF (its first frame) bytes hold;
/// the format is recognised by the bytes. Returns uint8 (height, width, channels), 0..255, on the host.
/// 16-bit PNGs give their high bytes. Colour becomes grey by Rec. 601's luma, rounded as Pillow does;
/// transparency is dropped, or 255 where the file has none. A rotation noted in EXIF is not applied, as in
/// Keras. Nothing is allocated for a header that promises more than `max_pixels`, or more pixels than
/// its bytes can hold (JPEG and GIF: unless they are less than a million). Throws FileFormatError naming
/// `name` for bytes that are no picture, of a kind that is not known, damaged (PNG: checksums), or cut off;
/// InvalidArgumentError for other channels.
Tensor decode_image(std::span<const uint8_t> bytes, const DecodeImageConfig& config = {});

/// The same from a file. Throws IoError when it cannot be read.
Tensor decode_image_file(const std::filesystem::path& path, DecodeImageConfig config = {});

namespace detail {

/// 1, 3 or 4 for "grayscale", "rgb" or "rgba". Throws InvalidArgumentError, beginning with `where`,
/// otherwise.
int64_t channels_of_color_mode(const std::string& color_mode, const std::string& where);

}  // namespace detail

}  // namespace nyala
