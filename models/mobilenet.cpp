#include <nyala/models/mobilenet.h>

#include <cmath>
#include <map>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/models/image_application.h>
#include <nyala/models/names.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace mobilenet {
namespace {

const std::set<int64_t>& kPublishedSizes = *new std::set<int64_t>{128, 160, 192, 224};

int64_t scaled(int64_t filters, double alpha) {
  return static_cast<int64_t>(static_cast<double>(filters) * alpha);
}

Tensor normalized(const Tensor& x, const std::string& name) {
  return ReLU({.max_value = 6.0, .name = name + "_relu"})(BatchNormalization({.name = name + "_bn"})(x));
}

Tensor block(Tensor x, int64_t filters, int64_t stride, int64_t number, const ApplicationConfig& config) {
  const std::string id = std::to_string(number), depthwise = "conv_dw_" + id, pointwise = "conv_pw_" + id;
  if (stride > 1) x = ZeroPadding2D({{0, 1}, {0, 1}}, {.name = "conv_pad_" + id})(x);
  x = DepthwiseConv2D(3, {.strides = stride,
                          .padding = stride > 1 ? "valid" : "same",
                          .depth_multiplier = config.depth_multiplier,
                          .use_bias = false,
                          .name = depthwise})(x);
  x = normalized(x, depthwise);
  x = Conv2D(scaled(filters, config.alpha), 1, {.padding = "same", .use_bias = false, .name = pointwise})(x);
  return normalized(x, pointwise);
}

Tensor classifier(const ImageApplication& app, Tensor x) {
  const ApplicationConfig& config = app.config();
  if (!config.include_top) return app.pool(x, {});
  x = GlobalAveragePooling2D({.keepdims = true})(x);
  x = Dropout(app.dropout(1e-3), {.name = "dropout"})(x);
  x = Conv2D(config.classes, 1, {.padding = "same", .name = "conv_preds"})(x);
  x = Reshape({config.classes}, {.name = "reshape_2"})(x);
  return Activation(config.classifier_activation, {.name = "predictions"})(x);
}

/// The height for which weights are published that is nearest to use.
int64_t published_size(const Shape& image) {
  return image[0] == image[1] && kPublishedSizes.contains(image[0]) ? image[0] : 224;
}

PretrainedFile published(const ImageApplication& app) {
  const std::map<double, std::string> alphas = {{0.25, "2_5"}, {0.5, "5_0"}, {0.75, "7_5"}, {1.0, "1_0"}};
  const ApplicationConfig& config = app.config();
  if (!app.imagenet()) return {};
  if (!alphas.contains(config.alpha) || config.depth_multiplier != 1)
    throw InvalidArgumentError(
        "MobileNet: weights are published for alpha 0.25, 0.5, 0.75 and 1 with depth_multiplier 1, received "
        "alpha " +
        shortest(config.alpha) + " and depth_multiplier " + std::to_string(config.depth_multiplier));
  const std::string file = "mobilenet_" + alphas.at(config.alpha) + "_" +
                           std::to_string(published_size(app.image_shape())) + "_tf" +
                           (config.include_top ? "" : "_no_top") + ".h5";
  return {.name = file,
          .url = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/" + file};
}

}  // namespace
}  // namespace mobilenet

Model MobileNet(const ApplicationConfig& config) {
  using namespace mobilenet;
  const ImageApplication app(config, {.name = "MobileNet",
                                      .options = {"alpha", "depth_multiplier", "dropout"},
                                      .published_sizes = kPublishedSizes});
  const PretrainedFile file = published(app);
  Tensor x = Conv2D(scaled(32, config.alpha), 3,
                    {.strides = 2, .padding = "same", .use_bias = false, .name = "conv1"})(app.image());
  x = normalized(x, "conv1");
  constexpr int64_t kFilters[] = {64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024};
  int64_t number = 0;
  for (const int64_t filters : kFilters) {
    ++number;
    const bool halves = number == 2 || number == 4 || number == 6 || number == 12;
    x = block(x, filters, halves ? 2 : 1, number, config);
  }
  const int64_t rows = app.imagenet() ? published_size(app.image_shape()) : app.image_shape()[0];
  return app.model(classifier(app, x), "mobilenet_" + two_decimals(config.alpha) + "_" + size_name(rows),
                   file);
}

}  // namespace nyala::applications
