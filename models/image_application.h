#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nyala/api/layers/base/padding_sizes2d.h>
#include <nyala/models/application_config.h>
#include <nyala/models/pretrained_file.h>

namespace nyala::applications {

/// What one architecture says about its arguments.
struct ApplicationTraits {
  std::string name;  // "ResNet50", for errors
  int64_t default_size = 224;
  int64_t min_size = 32;
  /// Which of "alpha", "depth_multiplier", "minimalistic", "dropout" and "include_preprocessing" it has.
  std::set<std::string> options = {};
  /// True where the image may have any size in spite of a top, and has by default.
  bool any_size_with_top = false;
  /// Heights and widths besides default_size for which weights with a top are published.
  std::set<int64_t> published_sizes = {};
};

/// Names of the pooling layers at the end; empty: automatic.
struct PoolingNames {
  std::string with_top = {};
  std::string average = {};
  std::string maximum = {};
};

/// How a classifier of one Dense layer ends a model.
struct TopOptions {
  PoolingNames pooling = {};
  double dropout = 0.0;  // of a Dropout "top_dropout"; 0: none
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
};

class UnfilledVariables;

/// The frame of every architecture: checks the arguments, gives the image and makes the model. While one
/// lives that will load weights, layers that are built on its thread get zeros instead of random numbers.
class ImageApplication {
 public:
  /// Throws InvalidArgumentError or ShapeError for what Keras refuses, NotFoundError where `weights` names a
  /// file that does not exist.
  ImageApplication(const ApplicationConfig& config, ApplicationTraits traits);
  ~ImageApplication();
  ImageApplication(const ImageApplication&) = delete;
  ImageApplication& operator=(const ImageApplication&) = delete;

  const ApplicationConfig& config() const { return config_; }
  /// (height, width, channels), perhaps None.
  const Shape& image_shape() const { return shape_; }
  const Tensor& image() const { return image_; }
  /// Keras' published weights are wanted.
  bool imagenet() const { return config_.weights == "imagenet"; }
  double dropout(double otherwise) const;

  /// The classifier that ends the model, or without a top what `pooling` asks for.
  Tensor classify(const Tensor& features, const TopOptions& options) const;
  /// Without a top: what `pooling` asks for.
  Tensor pool(const Tensor& features, const PoolingNames& names) const;

  /// The model, with its weights: `published` for "imagenet". `name` is Keras' default.
  Model model(const Tensor& output, const std::string& name, const PretrainedFile& published) const;

 private:
  void check_options() const;
  void check_weights() const;
  void find_shape();
  void check_size() const;
  [[noreturn]] void fail(const std::string& what) const;

  ApplicationConfig config_;
  ApplicationTraits traits_;
  Shape shape_;
  Tensor image_;
  std::unique_ptr<UnfilledVariables> unfilled_;
};

namespace detail {

/// Sizes to pad an image by, so that a "valid" convolution of this kernel and strides 2 ends as Keras': k / 2
/// behind, and in front one less where the size is even or not known.
PaddingSizes2D correct_pad(const Tensor& x, int64_t kernel);

/// `value` as a multiple of `divisor`, at least `divisor`, and not below 90 % of `value`.
int64_t make_divisible(double value, int64_t divisor = 8);

}  // namespace detail

}  // namespace nyala::applications
