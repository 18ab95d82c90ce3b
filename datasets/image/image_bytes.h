#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace nyala {

enum class ImageFormat : uint8_t { jpeg, png, bmp, gif };

/// The format by the first bytes. Throws FileFormatError naming `name`, and the format if it is another known
/// one, for anything else.
ImageFormat image_format_of(std::span<const uint8_t> bytes, const std::string& name);

/// Walks over the parts that the format's headers announce without decoding them. Throws FileFormatError
/// naming `name` and the place for a file that ends too early, a PNG chunk with a wrong checksum, or sizes
/// that the bytes cannot hold: decoders fill such pictures up in silence.
void check_image_bytes(ImageFormat format, std::span<const uint8_t> bytes, const std::string& name);

}  // namespace nyala
