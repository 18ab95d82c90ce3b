// The decoder of pictures.
#include <nyala/backend/core/error.h>
#include <nyala/datasets/image/decode_image.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    nyala::decode_image({data, size}, {.channels = size % 2 ? 0 : 3, .max_pixels = 1 << 16});
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}
