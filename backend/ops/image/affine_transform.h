#pragma once

#include <array>
#include <string_view>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/image/resize_images.h>

namespace nyala::ops {

/// What lies outside of an image [abcd]: constant kkkk|abcd|kkkk, nearest aaaa|abcd|dddd, wrap
/// abcd|abcd|abcd, reflect dcba|abcd|dcba.
enum class FillMode : uint8_t { constant, nearest, wrap, reflect };

namespace detail {

/// By Keras' name. Throws InvalidArgumentError with the names there are.
FillMode fill_mode_of(std::string_view name);

}  // namespace detail

/// Numbers that make a transform: (a0, a1, a2, b0, b1, b2, c0, c1).
inline constexpr int64_t kTransformNumbers = 8;

struct AffineOptions {
  Interpolation interpolation = Interpolation::bilinear;  // or nearest
  FillMode fill_mode = FillMode::constant;
  double fill_value = 0.0;
  /// Of the result; 0: as the images.
  int64_t height = 0, width = 0;
};

/// Images (batch, height, width, channels), or one without the batch, moved by transforms (batch, 8), or
/// (8) for all, as keras.ops.image.affine_transform does: pixel (x, y) of the result is what the image has at
///   ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k),   k = c0 x + c1 y + 1.
/// The places are computed in float32, whatever the dtype of the images; bilinear integers are cut, not
/// rounded. Differentiable in the images, not in the transforms. A place that is no finite number, or is
/// more than 1e9 away, gives the fill value. Throws ShapeError for other shapes or images without pixels,
/// InvalidArgumentError for another interpolation or a size below 0.
Tensor affine_transform(const Tensor& images, const Tensor& transforms, const AffineOptions& options = {});

struct AffineTransformDescriptor {
  int64_t height = 1, width = 1;  // of the result
  double fill_value = 0.0;
  Interpolation interpolation = Interpolation::bilinear;
  FillMode fill_mode = FillMode::constant;
};
/// Inputs (images, transforms); transforms (batch, 8) or (1, 8) of float32.
extern const OpDef kAffineTransform;
/// The transposed map without the fill value: (gradient, transforms) -> that of the images, whose size is the
/// descriptor's.
extern const OpDef kAffineTransformBackward;

/// The pixels of an image that a pixel of the result is made of.
struct AffineTaps {
  int count = 0;
  std::array<int64_t, 4> pixels;  // row * width + column
  std::array<float, 4> weights;
  float fill = 0.0f;  // weight of the fill value
};

/// Where a place lies along one axis: pixel `first` counts 1 - next, the one behind it `next`.
struct AxisTap {
  int64_t first = 0;
  float next = 0.0f;
  bool is_place = true;  // false: only the fill value counts
};
struct AxisTaps {
  AxisTap x, y;
};

/// The map of one image of a call of kAffineTransform or of its transposed one; `images` and `result` name
/// the same side in both.
class AffineSampler {
 public:
  struct Size {
    int64_t batch = 0, height = 0, width = 0, channels = 0;
  };
  AffineSampler(const KernelCall& call, int64_t image);
  static Size images_of(const KernelCall& call);
  static Size result_of(const KernelCall& call);

  /// What pixel (x, y) of the result is made of.
  AffineTaps taps(int64_t x, int64_t y) const { return taps(axes(x, y)); }
  AffineTaps taps(const AxisTaps& at) const;
  /// The same along both axes.
  AxisTaps axes(int64_t x, int64_t y) const;
  /// True if axes(x, y).x is the same for every y and axes(x, y).y for every x.
  bool is_separable() const;

 private:
  AxisTap tap(float place, int64_t length) const;
  void add(AffineTaps& taps, int64_t x, int64_t y, float weight) const;

  const float* transform_;
  Size images_;
  Interpolation interpolation_;
  FillMode fill_mode_;
};

}  // namespace nyala::ops
