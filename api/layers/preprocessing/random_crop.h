#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomCropConfig {
  NamesRequired names_required = NamesRequired();
  int64_t height = 0;  // Keras has no default
  int64_t width = 0;
  int64_t seed = -1;             // below 0: none
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training cuts a part of `height` x `width` out of the images, at one place for the whole batch of a
/// step. Images that are not larger both ways are cut about their middle where they can be, and resized
/// (bilinear). Outside of training the largest part in the middle that has the proportions wanted is resized;
/// so Keras' documentation says, while Keras 3.15 leaves the images as they are. See ImageAugmentation.
class RandomCrop : public Layer {
 public:
  using Config = RandomCropConfig;
  /// Throws InvalidArgumentError unless both sizes are above 0.
  explicit RandomCrop(const Config& config);
  template <size_t N>
  explicit RandomCrop(const NoSuchField (&)[N]) = delete;
  RandomCrop(int64_t height, int64_t width, Config config = {});
  template <size_t N>
  RandomCrop(int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
