#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/ops/base/uniform_rows.h>
#include <nyala/backend/ops/image/affine_transform.h>
#include <nyala/backend/ops/image/image_transforms.h>

namespace nyala {

/// The limits of uniform numbers that a layer draws, in Keras' order.
using ImageDrawRanges = std::vector<ops::UniformRange>;

/// What a layer draws for a batch of images: with these numbers its transform is a function of the images.
struct ImageDraws {
  Tensor each = {};    // (rows, numbers of an image): uniform ones of each image
  Tensor all = {};     // (1, numbers of a batch): of the batch as a whole, equal on all replicas
  Tensor normal = {};  // normal numbers in the shape that the layer asks for
  Tensor gamma = {};   // (1, numbers): logarithms of gamma numbers of the batch as a whole
};

/// A layer that changes images at random in training and is the identity else. Each image draws its own
/// numbers, by the layer's seed, the step and the image's place in the global batch, whatever the replicas.
/// Integers become floats. Input (batch, height, width, channels), with "channels_first" (batch, channels,
/// height, width), or one image without the batch.
class ImageAugmentation : public SeededNode {
 public:
  void build(Builder&, const Shape& input) override;
  Tensor call(Call& c, const Tensor& x) const final;

  /// The numbers that each image draws, and those of the batch as a whole.
  virtual ImageDrawRanges each() const { return {}; }
  virtual ImageDrawRanges all() const { return {}; }
  /// The shape of the normal numbers for images of a shape that may hold None; no axes: none are drawn.
  virtual Shape normal_shape(const Shape&) const { return {}; }
  /// How many gamma numbers the batch as a whole draws, and their shape parameter.
  virtual int64_t gammas() const { return 0; }
  virtual double gamma_alpha() const { return 1.0; }

  /// What the layer draws for images (rows, height, width, channels).
  ImageDraws draws(Call& c, const Tensor& images) const;
  /// What given draws make of images (rows, height, width, channels) in training.
  virtual Tensor changed(Call& c, const Tensor& images, const ImageDraws& draws) const = 0;

 protected:
  ImageAugmentation(int64_t seed, std::string_view kind, const std::string& data_format);

  /// True if images become others out of training, too: unmoved() then makes them.
  virtual bool acts_always() const { return false; }
  /// What images become out of training, perhaps abstract and with or without the batch.
  virtual Tensor unmoved(const Tensor& images) const { return images; }

  /// The channels of an input. Throws ShapeError unless they are among `counts`.
  void check_channels(const Shape& input, std::initializer_list<int64_t> counts) const;

  /// Images moved by transforms that `motion` makes of numbers.
  static Tensor moved(const Tensor& images, const Tensor& numbers, ops::ImageMotion motion,
                      const ops::AffineOptions& options);

 private:
  void count_draws(Call& c, const Shape& images) const;

  bool channels_first_;
};

namespace detail {

/// Bilinear or nearest sampling by Keras' names. Throws InvalidArgumentError for others.
ops::AffineOptions sampling_of(const std::string& layer, const std::string& interpolation,
                               const std::string& fill_mode, double fill_value);

/// The fields behind the factors of a layer that moves images.
template <class Config>
void visit_motion(FieldVisitor& v, Config& config) {
  v.field("fill_mode", config.fill_mode);
  v.field("interpolation", config.interpolation);
  v.optional("seed", config.seed, -1);
  v.field("fill_value", config.fill_value);
  v.field("data_format", config.data_format);
}

}  // namespace detail

}  // namespace nyala
