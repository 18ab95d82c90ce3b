#pragma once

#include <cstdint>

namespace nyala {

/// Height and width of an image in pixels, in Keras' order.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

}  // namespace nyala
