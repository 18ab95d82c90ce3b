#include <nyala/models/mobilenet_v2.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/models/image_application.h>
#include <nyala/models/names.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace mobilenet_v2 {
namespace {

const std::set<int64_t>& kPublishedSizes = *new std::set<int64_t>{96, 128, 160, 192, 224};
const std::set<double>& kPublishedAlphas = *new std::set<double>{0.35, 0.5, 0.75, 1.0, 1.3, 1.4};

/// Blocks of one kind: the first has these strides.
struct Stage {
  int64_t expansion, filters, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

Tensor normalized(const Tensor& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
}

Tensor relu6(const Tensor& x, const std::string& name) { return ReLU({.max_value = 6.0, .name = name})(x); }

Tensor block(const Tensor& input, const Stage& stage, int64_t number, double alpha) {
  const std::string prefix = number ? "block_" + std::to_string(number) + "_" : "expanded_conv_";
  const int64_t channels = input.shape().back();
  const int64_t filters = make_divisible(static_cast<double>(static_cast<int64_t>(stage.filters * alpha)));
  Tensor x = input;
  if (number) {
    x = Conv2D(stage.expansion * channels, 1,
               {.padding = "same", .use_bias = false, .name = prefix + "expand"})(x);
    x = relu6(normalized(x, prefix + "expand_BN"), prefix + "expand_relu");
  }
  if (stage.stride == 2) x = ZeroPadding2D(correct_pad(x, 3), {.name = prefix + "pad"})(x);
  x = DepthwiseConv2D(3, {.strides = stage.stride,
                          .padding = stage.stride == 2 ? "valid" : "same",
                          .use_bias = false,
                          .name = prefix + "depthwise"})(x);
  x = relu6(normalized(x, prefix + "depthwise_BN"), prefix + "depthwise_relu");
  x = Conv2D(filters, 1, {.padding = "same", .use_bias = false, .name = prefix + "project"})(x);
  x = normalized(x, prefix + "project_BN");
  return channels == filters && stage.stride == 1 ? Add({.name = prefix + "add"})({input, x}) : x;
}

/// The height whose published weights are to be used.
int64_t published_size(const Shape& image) {
  return image[0] == image[1] && kPublishedSizes.contains(image[0]) ? image[0] : 224;
}

PretrainedFile published(const ImageApplication& app) {
  const ApplicationConfig& config = app.config();
  if (!app.imagenet()) return {};
  if (!kPublishedAlphas.contains(config.alpha))
    throw InvalidArgumentError(
        "MobileNetV2: weights are published for alpha 0.35, 0.5, 0.75, 1, 1.3 and 1.4, received alpha " +
        shortest(config.alpha));
  const std::string file = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_" + shortest(config.alpha) + "_" +
                           std::to_string(published_size(app.image_shape())) +
                           (config.include_top ? "" : "_no_top") + ".h5";
  return {.name = file,
          .url = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2/" + file};
}

}  // namespace
}  // namespace mobilenet_v2

Model MobileNetV2(const ApplicationConfig& config) {
  using namespace mobilenet_v2;
  const ImageApplication app(
      config, {.name = "MobileNetV2", .options = {"alpha"}, .published_sizes = kPublishedSizes});
  const PretrainedFile file = published(app);
  const double alpha = config.alpha;
  Tensor x = Conv2D(make_divisible(32 * alpha), 3,
                    {.strides = 2, .padding = "same", .use_bias = false, .name = "Conv1"})(app.image());
  x = relu6(normalized(x, "bn_Conv1"), "Conv1_relu");
  int64_t number = 0;
  for (Stage stage : kStages) {
    for (int64_t i = 0; i < stage.blocks; ++i, stage.stride = 1) x = block(x, stage, number++, alpha);
  }
  x = Conv2D(alpha > 1 ? make_divisible(1280 * alpha) : 1280, 1, {.use_bias = false, .name = "Conv_1"})(x);
  x = relu6(normalized(x, "Conv_1_bn"), "out_relu");
  const int64_t rows = app.imagenet() ? published_size(app.image_shape()) : app.image_shape()[0];
  return app.model(app.classify(x, {}), "mobilenetv2_" + two_decimals(alpha) + "_" + size_name(rows), file);
}

}  // namespace nyala::applications
