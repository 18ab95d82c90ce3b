#include <nyala/datasets/image/decode_image.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/image/image_bytes.h>
#include <nyala/datasets/io/byte_reader.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The decoder's assertions: reported, never an abort.
void check_decoder(bool condition) {
  check_internal(condition, "the picture decoder is in a state of its own");
}

}  // namespace

}  // namespace nyala

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_ASSERT(condition) ::nyala::check_decoder(condition)
// Zeros: the decoder reads tables that a damaged file does not define.
#define STBI_MALLOC(size) std::calloc(1, size)
#define STBI_REALLOC(memory, size) std::realloc(memory, size)
#define STBI_FREE(memory) std::free(memory)
// Where the scan of a JPEG ends too early, stb_image 2.27 shifts by 32 bits and more: any pixels will do
// there.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("shift"))), apply_to = function)
#endif
#include <stb/stb_image.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr uint64_t kLargestFile = uint64_t{1} << 30;

struct Header {
  int64_t width = 0, height = 0;
};

// The first bytes were looked at already: the decoder does not know them only where it has no memory to look.
[[noreturn]] void fail(const std::string& name) {
  const char* reason = stbi_failure_reason();
  const std::string_view text = reason ? reason : "unknown reason";
  if (text == "outofmem" || text == "unknown image type")
    throw OutOfMemoryError(name + ": no memory for the picture");
  throw FileFormatError(name + ": the picture cannot be decoded: " + std::string(text));
}

using ReadInfo = int(stbi__context*, int* width, int* height, int* channels);

/// What stbi_info would try beside the others, whose reasons would hide its own.
ReadInfo* info_reader(ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg:
      return &stbi__jpeg_info;
    case ImageFormat::png:
      return &stbi__png_info;
    case ImageFormat::bmp:
      return &stbi__bmp_info;
    case ImageFormat::gif:
      return &stbi__gif_info;
  }
  return nullptr;
}

Header read_header(ImageFormat format, std::span<const uint8_t> bytes, const DecodeImageConfig& config) {
  int width = 0, height = 0, channels = 0;
  stbi__context context;
  stbi__start_mem(&context, bytes.data(), static_cast<int>(bytes.size()));
  if (!info_reader(format)(&context, &width, &height, &channels)) fail(config.name);
  const Header header{width, std::abs(int64_t{height})};  // negative: a BMP whose first row is the upper one
  if (header.width < 1 || header.height < 1)
    throw FileFormatError(config.name + ": the picture has no pixels");
  if (header.width > config.max_pixels / header.height)
    throw FileFormatError(config.name + ": expected a picture of at most " +
                          std::to_string(config.max_pixels) + " pixels, found " +
                          std::to_string(header.height) + " x " + std::to_string(header.width));
  return header;
}

using Pixel = std::array<uint8_t, 4>;

/// Red, green, blue and opacity of a pixel with any number of channels.
Pixel rgba_of(const uint8_t* from, int channels) {
  switch (channels) {
    case 1:
      return {from[0], from[0], from[0], 255};
    case 2:
      return {from[0], from[0], from[0], from[1]};
    case 3:
      return {from[0], from[1], from[2], 255};
    default:
      return {from[0], from[1], from[2], from[3]};
  }
}

/// Rec. 601 in 16-bit fixed point, Pillow's convert("L"); a grey pixel keeps its value.
uint8_t luma(const Pixel& pixel) {
  return static_cast<uint8_t>((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16);
}

void convert(const uint8_t* from, int from_channels, int64_t pixels, uint8_t* to, int64_t to_channels) {
  if (from_channels == to_channels) {
    std::memcpy(to, from, static_cast<size_t>(pixels * to_channels));
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) {
    const Pixel pixel = rgba_of(from + i * from_channels, from_channels);
    if (to_channels == 1)
      to[i] = luma(pixel);
    else
      std::memcpy(to + i * to_channels, pixel.data(), static_cast<size_t>(to_channels));
  }
}

}  // namespace

Tensor decode_image(std::span<const uint8_t> bytes, const DecodeImageConfig& config) {
  if (config.channels != 0 && config.channels != 1 && config.channels != 3 && config.channels != 4)
    throw InvalidArgumentError("decode_image: expected channels 0, 1, 3 or 4, received " +
                               std::to_string(config.channels));
  if (bytes.size() > kLargestFile)
    throw FileFormatError(config.name + ": expected a picture of at most " + std::to_string(kLargestFile) +
                          " bytes, found " + std::to_string(bytes.size()));
  const ImageFormat format = image_format_of(bytes, config.name);
  check_image_bytes(format, bytes, config.name);
  const Header header = read_header(format, bytes, config);
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width, &height, &channels, 0),
      &stbi_image_free);
  if (!pixels) fail(config.name);
  check_internal(width == header.width && height == header.height, "the decoder changed the picture's size");
  const int64_t wanted = config.channels ? config.channels : channels;
  Tensor out = Tensor::empty({height, width, wanted}, DType::uint8);
  convert(pixels.get(), channels, int64_t{height} * width, out.raw_as<uint8_t>(), wanted);
  return out;
}

Tensor decode_image_file(const std::filesystem::path& path, DecodeImageConfig config) {
  (void)checked_path(path.string());
  std::error_code code;
  if (std::filesystem::exists(path, code) && !std::filesystem::is_regular_file(path, code) &&
      !std::filesystem::is_directory(path, code))
    throw IoError(path.string() + ": expected a regular file");
  config.name = path.string();
  datasets::ByteReader reader(path, kLargestFile);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(reader.file_size(), kLargestFile)) + 1);
  size_t count = 0;
  while (const size_t more = reader.read(std::span(bytes).subspan(count))) {
    count += more;
    if (count == bytes.size()) bytes.resize(bytes.size() * 2);
  }
  return decode_image(std::span(bytes).first(count), config);
}

int64_t detail::channels_of_color_mode(const std::string& color_mode, const std::string& where) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgb") return 3;
  if (color_mode == "rgba") return 4;
  throw InvalidArgumentError(where + ": expected color_mode 'rgb', 'rgba' or 'grayscale', received '" +
                             color_mode + "'" + did_you_mean(color_mode, {"rgb", "rgba", "grayscale"}));
}

}  // namespace nyala
