#include <nyala/models/xception.h>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

namespace xception {
namespace {

Tensor relu(const Tensor& x, const std::string& name) { return Activation("relu", {.name = name})(x); }

Tensor separable(const Tensor& x, int64_t filters, const std::string& name) {
  const Tensor y = SeparableConv2D(filters, 3, {.padding = "same", .use_bias = false, .name = name})(x);
  return BatchNormalization({.name = name + "_bn"})(y);
}

/// Two separable convolutions and a pooling, beside a 1x1 convolution that halves the image as well.
Tensor reduction(const Tensor& input, int64_t first_filters, int64_t filters, const std::string& block) {
  Tensor residual = Conv2D(filters, 1, {.strides = 2, .padding = "same", .use_bias = false})(input);
  residual = BatchNormalization()(residual);
  Tensor x = block == "block2" ? input : relu(input, block + "_sepconv1_act");
  x = separable(x, first_filters, block + "_sepconv1");
  x = separable(relu(x, block + "_sepconv2_act"), filters, block + "_sepconv2");
  x = MaxPooling2D(3, {.strides = 2, .padding = "same", .name = block + "_pool"})(x);
  return Add()({x, residual});
}

Tensor middle(const Tensor& input, const std::string& block) {
  Tensor x = input;
  for (const char* part : {"_sepconv1", "_sepconv2", "_sepconv3"})
    x = separable(relu(x, block + part + "_act"), 728, block + part);
  return Add()({x, input});
}

Tensor entry(const Tensor& x, int64_t filters, int64_t stride, const std::string& name) {
  Tensor y = Conv2D(filters, 3, {.strides = stride, .use_bias = false, .name = name})(x);
  y = BatchNormalization({.name = name + "_bn"})(y);
  return relu(y, name + "_act");
}

}  // namespace
}  // namespace xception

Model Xception(const ApplicationConfig& config) {
  using namespace xception;
  const ImageApplication app(config, {.name = "Xception", .default_size = 299, .min_size = 71});
  Tensor x = entry(app.image(), 32, 2, "block1_conv1");
  x = entry(x, 64, 1, "block1_conv2");
  x = reduction(x, 128, 128, "block2");
  x = reduction(x, 256, 256, "block3");
  x = reduction(x, 728, 728, "block4");
  for (int block = 5; block <= 12; ++block) x = middle(x, "block" + std::to_string(block));
  x = reduction(x, 728, 1024, "block13");
  x = relu(separable(x, 1536, "block14_sepconv1"), "block14_sepconv1_act");
  x = relu(separable(x, 2048, "block14_sepconv2"), "block14_sepconv2_act");
  const std::string file = std::string("xception_weights_tf_dim_ordering_tf_kernels") +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(
      app.classify(x, {.pooling = {.with_top = "avg_pool"}}), "xception",
      {.name = file,
       .url = "https://storage.googleapis.com/tensorflow/keras-applications/xception/" + file,
       .hash = config.include_top ? "0a58e3b7378bc2990ea3b43d5981f1f6" : "b0042744bf5b25fce3cb969f33bebb97"});
}

}  // namespace nyala::applications
