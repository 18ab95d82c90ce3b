#include <nyala/datasets/image/save_img.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <new>
#include <span>
#include <vector>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/files/base/atomic_file.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The encoder's assertions: reported, never an abort.
void check_encoder(bool condition) {
  check_internal(condition, "the picture encoder is in a state of its own");
}

}  // namespace

}  // namespace nyala

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#define STBIW_ASSERT(condition) ::nyala::check_encoder(condition)
#include <stb/stb_image_write.h>

namespace nyala {

namespace {

std::string format_of(const std::filesystem::path& path, const SaveImgConfig& config) {
  std::string format = config.file_format;
  if (format.empty() && path.has_extension()) format = path.extension().string().substr(1);
  format = lower_case(format);
  if (format == "jpg") format = "jpeg";
  if (format == "png" || format == "jpeg" || format == "bmp") return format;
  throw InvalidArgumentError("save_img: " + path.string() + ": expected the format 'png', 'jpeg' or 'bmp', " +
                             (format.empty() ? "received no file_format and a path without an ending"
                                             : "received '" + format + "'"));
}

/// The values as bytes, by the rules of Keras' array_to_img.
std::vector<uint8_t> to_bytes(const Tensor& image, bool scale, const std::filesystem::path& path) {
  std::vector<float> values = ops::cast(image, DType::float32).to_vector<float>();
  for (float value : values)
    if (!std::isfinite(value))
      throw NumericError("save_img: " + path.string() + ": expected finite values, received " +
                         number_text(value));
  if (scale) {
    const float low = *std::min_element(values.begin(), values.end());
    for (float& value : values) value -= low;
    const float high = *std::max_element(values.begin(), values.end());
    for (float& value : values) value = (high != 0.0f ? value / high : value) * 255.0f;
  }
  std::vector<uint8_t> out;
  out.reserve(values.size());
  for (float value : values) out.push_back(static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f)));
  return out;
}

void drop_opacity(std::vector<uint8_t>& bytes) {
  size_t to = 0;
  for (size_t from = 0; from < bytes.size(); from += 4)
    for (size_t c = 0; c < 3; ++c) bytes[to++] = bytes[from + c];
  bytes.resize(to);
}

struct Encoding {
  std::vector<uint8_t> bytes = {};
  bool out_of_memory = false;
};

/// Called from C: no exception may leave.
void append(void* context, void* data, int size) noexcept {
  auto& encoding = *static_cast<Encoding*>(context);
  try {
    const auto* begin = static_cast<const uint8_t*>(data);
    encoding.bytes.insert(encoding.bytes.end(), begin, begin + size);
  } catch (const std::bad_alloc&) {
    encoding.out_of_memory = true;
  }
}

struct Picture {
  int height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels = {};
};

std::vector<uint8_t> encode(const Picture& p, const std::string& format, int quality) {
  Encoding out;
  int done = 0;
  if (format == "png")
    done = stbi_write_png_to_func(append, &out, p.width, p.height, p.channels, p.pixels.data(),
                                  p.width * p.channels);
  else if (format == "bmp")
    done = stbi_write_bmp_to_func(append, &out, p.width, p.height, p.channels, p.pixels.data());
  else
    done = stbi_write_jpg_to_func(append, &out, p.width, p.height, p.channels, p.pixels.data(), quality);
  if (!done || out.out_of_memory) throw OutOfMemoryError("save_img: no memory for encoding the picture");
  return std::move(out.bytes);
}

}  // namespace

void save_img(const std::filesystem::path& path, const Tensor& image, const SaveImgConfig& config) {
  const Shape& shape = image.shape();
  if (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3 && shape[2] != 4) || shape.num_elements() == 0)
    throw ShapeError("save_img: " + path.string() +
                     ": expected an image (height, width, 1, 3 or 4), received " + shape.to_string());
  if (shape.num_elements() > INT_MAX)
    throw InvalidArgumentError("save_img: " + path.string() + ": expected fewer than 2^31 values, received " +
                               shape.to_string());
  if (config.quality < 1 || config.quality > 100)
    throw InvalidArgumentError("save_img: expected a quality from 1 to 100, received " +
                               std::to_string(config.quality));
  const std::string format = format_of(path, config);
  Picture picture{static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                  to_bytes(image, config.scale, path)};
  if (format == "jpeg" && picture.channels == 4) {
    log(LogChannel::warning, "save_img: " + path.string() + ": JPEG has no transparency, it is dropped");
    drop_opacity(picture.pixels);
    picture.channels = 3;
  }
  const std::vector<uint8_t> bytes = encode(picture, format, config.quality);
  write_file_atomically(path.string(), std::as_bytes(std::span(bytes)));
}

}  // namespace nyala
