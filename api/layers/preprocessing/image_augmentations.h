#pragma once

#include <vector>

#include <nyala/api/layers/preprocessing/image_augmentation.h>

namespace nyala {

/// Layers that another one is made of: what they draw for each image are columns of what that one draws.
class ImageAugmentations {
 public:
  /// An ImageAugmentation that draws nothing but numbers of each image.
  void add(const Layer& layer);
  size_t size() const { return layers_.size(); }

  /// The numbers of each image, of all layers one behind the other; those of layer `i`.
  ImageDrawRanges each() const;
  ImageDrawRanges each(size_t i) const { return node(i).each(); }

  /// What layer `i` makes of images by its columns of `each`, (rows, n) of all layers; by its own numbers.
  Tensor changed(Call& c, const Tensor& images, size_t i, const Tensor& each) const;
  Tensor changed_by(Call& c, const Tensor& images, size_t i, const Tensor& own) const;

 private:
  const ImageAugmentation& node(size_t i) const;

  std::vector<Layer> layers_;
};

}  // namespace nyala
