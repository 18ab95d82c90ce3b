#pragma once

#include <string_view>
#include <vector>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

enum class Interpolation : uint8_t { nearest, bilinear, bicubic, lanczos3, lanczos5, area };

namespace detail {

/// By Keras' name. Throws InvalidArgumentError with the names there are.
Interpolation interpolation_of(std::string_view name);

}  // namespace detail

struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = false;  // widens the filter where an image becomes smaller; not for nearest and area
  bool crop_to_aspect_ratio = false;  // cuts out the middle in the result's proportions first
  bool pad_to_aspect_ratio = false;   // adds `fill_value` on two sides first; not both
  double fill_value = 0.0;
};

/// Images (batch, height, width, channels), or one without the batch, of another height and width, as
/// keras.ops.image.resize and TensorFlow's tf.image.resize ("area") make them: pixels have their centres at
/// halves, weights that fall outside of the image are left out and the others scaled to the sum 1. Integers
/// come back as such, rounded (half to even) and cut to their range. Throws ShapeError for another rank or an
/// image without pixels, InvalidArgumentError for a size below 1, or cropping and padding at once.
Tensor resize_images(const Tensor& images, int64_t height, int64_t width, const ResizeOptions& options = {});

/// The largest part in the middle of the images with the proportions of height : width, at least one pixel;
/// Keras finds its size in float32, rounded down. Throws ShapeError for an image without pixels,
/// InvalidArgumentError for proportions below 1.
Tensor crop_to_proportions(const Tensor& images, int64_t height, int64_t width);
/// The images with as many rows, or columns, of `value` on both sides as make their proportions height :
/// width. Where an odd number is missing they get one less. Throws as crop_to_proportions().
Tensor pad_to_proportions(const Tensor& images, int64_t height, int64_t width, double value);

struct ResizeDescriptor {
  int64_t height = 1, width = 1;  // of the result
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = false;
};
/// Input (batch, height, width, channels); integers for `nearest` only.
extern const OpDef kResizeImages;
/// The transposed map: the gradient -> that of the images, whose size is the descriptor's `height`, `width`.
extern const OpDef kResizeImagesBackward;

/// Resizing along one axis as a matrix: output i is the sum of weights[i * taps + k] * input[first[i] + k].
/// Filters that overlap an edge have their weights there at 0.
struct ResizeAxis {
  int64_t input = 0, output = 0;
  int64_t taps = 0;
  std::vector<int64_t> first;
  std::vector<float> weights;
  ResizeAxis(int64_t input, int64_t output, const ResizeOptions& options);
};

/// The sizes of a call of kResizeImages or of its transposed map; `rows` and `columns` lead from the images
/// to the resized ones in both.
struct ResizeGeometry {
  int64_t batch = 0, channels = 0;
  ResizeAxis rows, columns;
};

namespace detail {

ResizeGeometry resize_geometry(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
