#include <nyala/models/mobilenet_v3.h>

#include <map>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/models/image_application.h>
#include <nyala/models/names.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace mobilenet_v3 {
namespace {

/// One inverted residual block. `large_kernel`: 5, and `swish`: hard swish, unless the model is minimalistic;
/// `squeeze` likewise.
struct Block {
  double expansion;
  double filters;
  bool large_kernel;
  int64_t stride;
  bool squeeze, swish;
};

const std::vector<Block>& kSmall = *new std::vector<Block>{{1, 16, false, 2, true, false},
                                                           {72.0 / 16, 24, false, 2, false, false},
                                                           {88.0 / 24, 24, false, 1, false, false},
                                                           {4, 40, true, 2, true, true},
                                                           {6, 40, true, 1, true, true},
                                                           {6, 40, true, 1, true, true},
                                                           {3, 48, true, 1, true, true},
                                                           {3, 48, true, 1, true, true},
                                                           {6, 96, true, 2, true, true},
                                                           {6, 96, true, 1, true, true},
                                                           {6, 96, true, 1, true, true}};

const std::vector<Block>& kLarge = *new std::vector<Block>{
    {1, 16, false, 1, false, false},  {4, 24, false, 2, false, false},  {3, 24, false, 1, false, false},
    {3, 40, true, 2, true, false},    {3, 40, true, 1, true, false},    {3, 40, true, 1, true, false},
    {6, 80, false, 2, false, true},   {2.5, 80, false, 1, false, true}, {2.3, 80, false, 1, false, true},
    {2.3, 80, false, 1, false, true}, {6, 112, false, 1, true, true},   {6, 112, false, 1, true, true},
    {6, 160, true, 2, true, true},    {6, 160, true, 1, true, true},    {6, 160, true, 1, true, true}};

struct Variant {
  std::string name;  // "MobileNetV3Small"
  std::string size;  // "small"
  const std::vector<Block>& blocks;
  double last_channels;
};

Tensor normalized(const Tensor& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
}

Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name, bool use_bias = false) {
  return Conv2D(filters, 1, {.padding = "same", .use_bias = use_bias, .name = name})(x);
}

Tensor activated(const Tensor& x, bool swish) { return swish ? Activation("hard_swish")(x) : ReLU()(x); }

Tensor squeeze_and_excite(const Tensor& input, int64_t filters, const std::string& prefix) {
  Tensor x = GlobalAveragePooling2D({.keepdims = true, .name = prefix + "avg_pool"})(input);
  x = pointwise(x, make_divisible(static_cast<double>(filters) * 0.25), prefix + "conv", true);
  x = ReLU({.name = prefix + "relu"})(x);
  x = pointwise(x, filters, prefix + "conv_1", true);
  x = ReLU({.max_value = 6.0})(x + 3.0) * (1.0 / 6.0);
  return Multiply({.name = prefix + "mul"})({input, x});
}

Tensor inverted_residual(const Tensor& input, const Block& block, size_t number,
                         const ApplicationConfig& config) {
  const std::string prefix = "expanded_conv_" + (number ? std::to_string(number) + "_" : std::string());
  const int64_t channels = input.shape().back(), filters = make_divisible(block.filters * config.alpha);
  const int64_t expanded = make_divisible(static_cast<double>(channels) * block.expansion);
  const int64_t kernel = block.large_kernel && !config.minimalistic ? 5 : 3;
  const bool swish = block.swish && !config.minimalistic;
  Tensor x = input;
  if (number)
    x = activated(normalized(pointwise(x, expanded, prefix + "expand"), prefix + "expand_bn"), swish);
  if (block.stride == 2) x = ZeroPadding2D(correct_pad(x, kernel), {.name = prefix + "depthwise_pad"})(x);
  x = DepthwiseConv2D(kernel, {.strides = block.stride,
                               .padding = block.stride == 2 ? "valid" : "same",
                               .use_bias = false,
                               .name = prefix + "depthwise"})(x);
  x = activated(normalized(x, prefix + "depthwise_bn"), swish);
  if (block.squeeze && !config.minimalistic) x = squeeze_and_excite(x, expanded, prefix + "squeeze_excite_");
  x = normalized(pointwise(x, filters, prefix + "project"), prefix + "project_bn");
  return block.stride == 1 && channels == filters ? Add({.name = prefix + "add"})({input, x}) : x;
}

Tensor classifier(const ImageApplication& app, Tensor x, double last_channels) {
  const ApplicationConfig& config = app.config();
  if (!config.include_top) return app.pool(x, {.average = "avg_pool", .maximum = "max_pool"});
  const int64_t channels =
      config.alpha > 1 ? make_divisible(last_channels * config.alpha) : static_cast<int64_t>(last_channels);
  x = GlobalAveragePooling2D({.keepdims = true})(x);
  x = activated(pointwise(x, channels, "conv_2", true), !config.minimalistic);
  if (const double rate = app.dropout(0.2); rate > 0) x = Dropout(rate)(x);
  x = Flatten()(pointwise(x, config.classes, "logits", true));
  return Activation(config.classifier_activation, {.name = "predictions"})(x);
}

/// Hashes of the files with and without a top.
const std::map<std::string, std::pair<const char*, const char*>>& kHashes =
    *new std::map<std::string, std::pair<const char*, const char*>>{
        {"large_224_0.75_float", {"765b44a33ad4005b3ac83185abf1d0eb", "40af19a13ebea4e2ee0c676887f69a2e"}},
        {"large_224_1.0_float", {"59e551e166be033d707958cf9e29a6a7", "07fb09a5933dd0c8eaafa16978110389"}},
        {"large_minimalistic_224_1.0_float",
         {"675e7b876c45c57e9e63e6d90a36599c", "ec5221f64a2f6d1ef965a614bdae7973"}},
        {"small_224_0.75_float", {"cb65d4e5be93758266aa0a7f2c6708b7", "ebdb5cc8e0b497cd13a7c275d475c819"}},
        {"small_224_1.0_float", {"8768d4c2e7dee89b9d02b2d03d65d862", "d3e8ec802a04aa4fc771ee12a9a9b836"}},
        {"small_minimalistic_224_1.0_float",
         {"99cd97fb2fcdad2bf028eb838de69e37", "cde8136e733e811080d9fcd8a252f7e4"}}};

PretrainedFile published(const ImageApplication& app, const Variant& variant) {
  const ApplicationConfig& config = app.config();
  if (!app.imagenet()) return {};
  const std::string key = variant.size + (config.minimalistic ? "_minimalistic" : "") + "_224_" +
                          shortest(config.alpha) + "_float";
  const auto hashes = kHashes.find(key);
  if (hashes == kHashes.end())
    throw InvalidArgumentError(
        variant.name +
        ": weights are published for alpha 0.75 and 1, minimalistic for alpha 1; received "
        "alpha " +
        shortest(config.alpha));
  const std::string file = "weights_mobilenet_v3_" + key + (config.include_top ? ".h5" : "_no_top_v2.h5");
  return {.name = file,
          .url = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v3/" + file,
          .hash = config.include_top ? hashes->second.first : hashes->second.second};
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config,
                             {.name = variant.name,
                              .options = {"alpha", "minimalistic", "dropout", "include_preprocessing"},
                              .any_size_with_top = true});
  const PretrainedFile file = published(app, variant);
  const bool swish = !config.minimalistic;
  Tensor x = app.image();
  if (config.include_preprocessing) x = Rescaling({.scale = 1.0 / 127.5, .offset = -1.0})(x);
  x = Conv2D(16, 3, {.strides = 2, .padding = "same", .use_bias = false, .name = "conv"})(x);
  x = activated(normalized(x, "conv_bn"), swish);
  for (size_t i = 0; i < variant.blocks.size(); ++i) x = inverted_residual(x, variant.blocks[i], i, config);
  const int64_t channels = make_divisible(static_cast<double>(x.shape().back() * 6));
  x = activated(normalized(pointwise(x, channels, "conv_1"), "conv_1_bn"), swish);
  return app.model(classifier(app, x, variant.last_channels), variant.name, file);
}

}  // namespace
}  // namespace mobilenet_v3

Model MobileNetV3Small(const ApplicationConfig& config) {
  return mobilenet_v3::build(config, {"MobileNetV3Small", "small", mobilenet_v3::kSmall, 1024});
}

Model MobileNetV3Large(const ApplicationConfig& config) {
  return mobilenet_v3::build(config, {"MobileNetV3Large", "large", mobilenet_v3::kLarge, 1280});
}

}  // namespace nyala::applications
