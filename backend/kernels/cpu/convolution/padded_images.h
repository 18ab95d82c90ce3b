#pragma once

#include <cstring>

#include <nyala/backend/ops/nn/conv2d.h>

namespace nyala {

/// NHWC images in a frame of zeros, just as large as the windows reach, for kernels that know no padding.
class PaddedImages {
 public:
  explicit PaddedImages(const ops::ConvolutionGeometry& g)
      : g_(g),
        height_((g.out_height - 1) * g.strides[0] + (g.kernel_height - 1) * g.dilation[0] + 1),
        width_((g.out_width - 1) * g.strides[1] + (g.kernel_width - 1) * g.dilation[1] + 1) {}

  /// False where the windows stay on the image, which is then used as it is.
  bool needed() const {
    return g_.pad_top > 0 || g_.pad_left > 0 || height_ > g_.height || width_ > g_.width;
  }
  int64_t row() const { return (needed() ? width_ : g_.width) * g_.channels; }
  int64_t rows() const { return needed() ? height_ : g_.height; }
  /// Floats of one framed image; 0 where none is needed.
  int64_t size() const { return needed() ? height_ * width_ * g_.channels : 0; }
  int64_t image_size() const { return g_.height * g_.width * g_.channels; }

  /// `image` itself, or its copy in `frame`.
  const float* framed(const float* image, float* frame) const {
    if (!needed()) return image;
    std::memset(frame, 0, static_cast<size_t>(size()) * sizeof(float));
    for_each_row([&](int64_t in, int64_t out, size_t bytes) { std::memcpy(frame + out, image + in, bytes); });
    return frame;
  }
  /// Where the gradient of one image is to be written.
  float* place(float* image, float* frame) const { return needed() ? frame : image; }
  /// Takes the image out of its frame; what no window reaches is 0.
  void unframe(float* image, const float* frame) const {
    if (!needed()) return;
    std::memset(image, 0, static_cast<size_t>(image_size()) * sizeof(float));
    for_each_row([&](int64_t in, int64_t out, size_t bytes) { std::memcpy(image + in, frame + out, bytes); });
  }

 private:
  /// Calls body(offset in the image, offset in the frame, bytes) for the rows that both have.
  template <class Body>
  void for_each_row(Body&& body) const {
    const int64_t columns = width_ - g_.pad_left < g_.width ? width_ - g_.pad_left : g_.width;
    const int64_t rows = height_ - g_.pad_top < g_.height ? height_ - g_.pad_top : g_.height;
    if (columns <= 0) return;
    for (int64_t y = 0; y < rows; ++y)
      body(y * g_.width * g_.channels, ((y + g_.pad_top) * width_ + g_.pad_left) * g_.channels,
           static_cast<size_t>(columns * g_.channels) * sizeof(float));
  }

  ops::ConvolutionGeometry g_;
  int64_t height_, width_;
};

}  // namespace nyala
