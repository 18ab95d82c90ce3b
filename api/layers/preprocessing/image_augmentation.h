#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/ops/base/uniform_rows.h>
#include <nyala/backend/ops/image/affine_transform.h>
#include <nyala/backend/ops/image/image_transforms.h>

namespace nyala {

/// A layer that changes images at random in training and is the identity else. Each image draws its own
/// numbers, by the layer's seed, the step and the image's place in the global batch, whatever the replicas.
/// Integers become floats. Input (batch, height, width, channels), with "channels_first" (batch, channels,
/// height, width), or one image without the batch.
class ImageAugmentation : public SeededNode {
 public:
  void build(Builder&, const Shape& input) override;
  Tensor call(Call& c, const Tensor& x) const final;

 protected:
  ImageAugmentation(int64_t seed, std::string_view kind, const std::string& data_format);

  /// What training makes of images (batch, height, width, channels).
  virtual Tensor changed(Call& c, const Tensor& images) const = 0;
  /// True if images are of another size also where nothing is drawn: resized() then makes them.
  virtual bool resizes() const { return false; }
  /// What images become outside of training, perhaps abstract and with or without the batch.
  virtual Tensor resized(const Tensor& images) const { return images; }

  /// Images moved by transforms that `motion` makes of numbers.
  static Tensor moved(const Tensor& images, const Tensor& numbers, ops::ImageMotion motion,
                      const ops::AffineOptions& options);

 private:
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
