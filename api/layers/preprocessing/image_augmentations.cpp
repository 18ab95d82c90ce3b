#include <nyala/api/layers/preprocessing/image_augmentations.h>

#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

void ImageAugmentations::add(const Layer& layer) { layers_.push_back(layer); }

const ImageAugmentation& ImageAugmentations::node(size_t i) const {
  return dynamic_cast<const ImageAugmentation&>(layers_.at(i).node());
}

ImageDrawRanges ImageAugmentations::each() const {
  ImageDrawRanges all;
  for (size_t i = 0; i < size(); ++i)
    for (const ops::UniformRange& range : each(i)) all.push_back(range);
  return all;
}

Tensor ImageAugmentations::changed(Call& c, const Tensor& images, size_t i, const Tensor& each) const {
  size_t first = 0;
  for (size_t before = 0; before < i; ++before) first += node(before).each().size();
  const size_t count = node(i).each().size();
  if (count == 0) return changed_by(c, images, i, Tensor());
  return changed_by(
      c, images, i,
      ops::slice_axis(each, 1, {static_cast<int64_t>(first), static_cast<int64_t>(first + count)}));
}

Tensor ImageAugmentations::changed_by(Call& c, const Tensor& images, size_t i, const Tensor& own) const {
  return node(i).changed(c, images, {.each = own});
}

}  // namespace nyala
