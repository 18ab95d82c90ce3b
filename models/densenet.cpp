#include <nyala/models/densenet.h>

#include <array>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

namespace densenet {
namespace {

constexpr int64_t kGrowth = 32;

struct Variant {
  std::string name;        // "DenseNet121"
  std::string keras_name;  // "densenet121"
  std::array<int, 4> blocks;
  const char* hash_with_top;
  const char* hash_without_top;
};

Tensor activated(const Tensor& x, const std::string& batch_normalization, const std::string& relu) {
  const Tensor y = BatchNormalization({.axis = 3, .epsilon = 1.001e-5, .name = batch_normalization})(x);
  return Activation("relu", {.name = relu})(y);
}

/// Adds kGrowth channels to those of the input.
Tensor grown(const Tensor& input, const std::string& name) {
  Tensor x = activated(input, name + "_0_bn", name + "_0_relu");
  x = Conv2D(4 * kGrowth, 1, {.use_bias = false, .name = name + "_1_conv"})(x);
  x = activated(x, name + "_1_bn", name + "_1_relu");
  x = Conv2D(kGrowth, 3, {.padding = "same", .use_bias = false, .name = name + "_2_conv"})(x);
  return Concatenate(3, {.name = name + "_concat"})({input, x});
}

/// Half the channels, half the image.
Tensor transition(Tensor x, const std::string& name) {
  x = activated(x, name + "_bn", name + "_relu");
  x = Conv2D(x.shape().back() / 2, 1, {.use_bias = false, .name = name + "_conv"})(x);
  return AveragePooling2D(2, {.strides = 2, .name = name + "_pool"})(x);
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config, {.name = variant.name});
  Tensor x = ZeroPadding2D({{3, 3}, {3, 3}})(app.image());
  x = Conv2D(64, 7, {.strides = 2, .use_bias = false, .name = "conv1_conv"})(x);
  x = activated(x, "conv1_bn", "conv1_relu");
  x = ZeroPadding2D({{1, 1}, {1, 1}})(x);
  x = MaxPooling2D(3, {.strides = 2, .name = "pool1"})(x);
  for (size_t stage = 0; stage < 4; ++stage) {
    const std::string number = std::to_string(stage + 2);
    for (int i = 1; i <= variant.blocks[stage]; ++i)
      x = grown(x, "conv" + number + "_block" + std::to_string(i));
    if (stage < 3) x = transition(x, "pool" + number);
  }
  x = activated(x, "bn", "relu");
  const std::string file = variant.keras_name + "_weights_tf_dim_ordering_tf_kernels" +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(app.classify(x, {.pooling = {"avg_pool", "avg_pool", "max_pool"}}), variant.keras_name,
                   {.name = file,
                    .url = "https://storage.googleapis.com/tensorflow/keras-applications/densenet/" + file,
                    .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace densenet

Model DenseNet121(const ApplicationConfig& config) {
  return densenet::build(config, {"DenseNet121",
                                  "densenet121",
                                  {6, 12, 24, 16},
                                  "9d60b8095a5708f2dcce2bca79d332c7",
                                  "30ee3e1110167f948a6b9946edeeb738"});
}

Model DenseNet169(const ApplicationConfig& config) {
  return densenet::build(config, {"DenseNet169",
                                  "densenet169",
                                  {6, 12, 32, 32},
                                  "d699b8f76981ab1b30698df4c175e90b",
                                  "b8c4d4c20dd625c148057b9ff1c1176b"});
}

Model DenseNet201(const ApplicationConfig& config) {
  return densenet::build(config, {"DenseNet201",
                                  "densenet201",
                                  {6, 12, 48, 32},
                                  "1ceb130c1ea1b78c3bf6114dbdfd8807",
                                  "c13680b51ded0fb44dff2d8f86ac8bb1"});
}

}  // namespace nyala::applications
