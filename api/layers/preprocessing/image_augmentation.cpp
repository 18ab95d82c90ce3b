#include <nyala/api/layers/preprocessing/image_augmentation.h>

#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

ImageAugmentation::ImageAugmentation(int64_t seed, std::string_view kind, const std::string& data_format)
    : SeededNode(seed, kind), channels_first_(data_format == "channels_first") {
  check_either_data_format(std::string(kind), data_format);
}

void ImageAugmentation::build(Builder&, const Shape& input) { check_images(input); }

namespace {

using Ranges = std::initializer_list<ops::UniformRange>;

/// Numbers are drawn two by two: `draw` makes (rows, 1 or 2) of them for one or two ranges.
template <class Draw>
Tensor drawn(const ImageDrawRanges& ranges, const Draw& draw) {
  Tensors columns;
  for (size_t i = 0; i < ranges.size(); i += 2)
    columns.push_back(i + 1 < ranges.size() ? draw(Ranges{ranges[i], ranges[i + 1]})
                                            : draw(Ranges{ranges[i]}));
  return columns.empty() ? Tensor() : columns.size() == 1 ? columns[0] : ops::concatenate(columns, 1);
}

}  // namespace

ImageDraws ImageAugmentation::draws(Call& c, const Tensor& images) const {
  ImageDraws out;
  out.each = drawn(each(), [&](Ranges ranges) { return uniform_for_each(c, images, ranges); });
  out.all = drawn(all(), [&](Ranges ranges) { return uniform_for_all(c, images, ranges); });
  const Shape normal = normal_shape(images.shape());
  if (normal.rank() > 0)
    out.normal = noise(c, Tensor::empty(normal, images.dtype(), images.device()), 0.0, 1.0);
  if (gammas() > 0)
    out.gamma = log_gamma_for_all(c, images, Tensor::full({}, gamma_alpha(), DType::float32, images.device()),
                                  gammas());
  return out;
}

/// Who looks at a graph counts draws: as many as draws() makes.
void ImageAugmentation::count_draws(Call& c, const Shape& images) const {
  size_t count = (each().size() + 1) / 2 + (all().size() + 1) / 2;
  if (normal_shape(images).rank() > 0) ++count;
  if (gammas() > 0) ++count;
  for (size_t i = 0; i < count; ++i) c.random_key(0);
}

Tensor ImageAugmentation::call(Call& c, const Tensor& x) const {
  const Tensor floats = ops::cast(x, compute_dtype());
  const bool one = x.rank() == 3, trains = c.training() && !x.is_abstract();
  if (c.training() && !trains) count_draws(c, x.shape());
  if (!trains && !acts_always()) return floats;
  const Tensor batch = trains && one ? ops::expand_dims(floats, 0) : floats;
  const Tensor images = channels_first_ ? ops::moveaxis(batch, -3, -1) : batch;
  const Tensor result = trains ? changed(c, images, draws(c, images)) : unmoved(images);
  const Tensor ordered = channels_first_ ? ops::moveaxis(result, -1, -3) : result;
  return trains && one ? ops::squeeze(ordered, {0}) : ordered;
}

void ImageAugmentation::check_channels(const Shape& input, std::initializer_list<int64_t> counts) const {
  const int64_t channels = input[channels_first_ ? -3 : -1];
  if (channels == None || std::ranges::find(counts, channels) != counts.end()) return;
  std::string expected;
  for (const int64_t count : counts) expected += (expected.empty() ? "" : " or ") + std::to_string(count);
  throw ShapeError("expected images of " + expected + " channels, received shape " + input.to_string());
}

Tensor ImageAugmentation::moved(const Tensor& images, const Tensor& numbers, ops::ImageMotion motion,
                                const ops::AffineOptions& options) {
  const int64_t height = images.shape()[1], width = images.shape()[2];
  const Tensor transforms =
      ops::image_transforms(numbers, {motion, height, width, options.height, options.width});
  return ops::affine_transform(images, transforms, options);
}

ops::AffineOptions detail::sampling_of(const std::string& layer, const std::string& interpolation,
                                       const std::string& fill_mode, double fill_value) {
  try {
    if (interpolation != "nearest" && interpolation != "bilinear")
      throw InvalidArgumentError("expected interpolation 'nearest' or 'bilinear', received " +
                                 in_quotes(interpolation));
    return {.interpolation = ops::detail::interpolation_of(interpolation),
            .fill_mode = ops::detail::fill_mode_of(fill_mode),
            .fill_value = fill_value};
  } catch (const Error&) {
    rethrow_with_prefix(layer + ": ");
  }
}

}  // namespace nyala
