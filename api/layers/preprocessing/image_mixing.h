#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nyala/api/layers/base/takes_dictionary.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>

namespace nyala {

/// A layer that mixes each image of a batch, and its labels, with those of another one in training, and is
/// the identity else. Who is mixed with whom is a permutation of the global batch's rows, by the layer's
/// seed and the step: replicas hand each other their images, and any number of them gives the same. Called
/// with images, or with images and labels (rows, classes), as in Keras with a dictionary of these; integers
/// become floats. An image without the batch has no partner and stays.
class ImageMixing : public SeededNode, public TakesDictionary {
 public:
  void build(Builder&, const Shapes& inputs) override;
  bool takes_many() const override { return has_labels_; }
  Tensor call(Call& c, const Tensor& images) const override;
  Outputs call(Call& c, Inputs inputs) const override;
  std::vector<std::string> keys(size_t count) const override;

  /// What the layer draws for images (rows, height, width, channels) besides the permutation.
  virtual ImageDraws draws(Call& c, const Tensor& images) const = 0;
  /// Images (rows, height, width, channels), and labels if there are, mixed with those of their partners by
  /// given draws.
  virtual Tensors mixed(const Tensors& own, const Tensors& partners, const ImageDraws& draws) const = 0;

 protected:
  ImageMixing(int64_t seed, std::string_view kind, const std::string& data_format);

  /// How many draws draws() makes.
  virtual int num_draws() const = 0;

  /// weight * own + (1 - weight) * partner.
  static Tensor weighted(const Tensor& weight, const Tensor& own, const Tensor& partner);
  /// Beta numbers (rows, 1) of two logarithms of gamma numbers (rows, 2).
  static Tensor beta_numbers(const Tensor& log_gammas);

 private:
  Tensors trained(Call& c, const Tensors& own) const;

  bool channels_first_;
  bool has_labels_ = false;
};

}  // namespace nyala
