#include <nyala/models/efficientnet_v2.h>

#include <cmath>

#include <nyala/api/initializers/constant.h>
#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>
#include <nyala/models/mobile_blocks.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace efficientnet_v2 {
namespace {

constexpr double kDropPath = 0.2;

/// Blocks of one kind before scaling: the first has these strides. `fused`: one 3x3 convolution instead of a
/// 1x1 and a depthwise one; the others squeeze and excite.
struct Stage {
  int64_t blocks, filters_in, filters_out, expansion, stride;
  bool fused;
};

const std::vector<Stage>& kBase =
    *new std::vector<Stage>{{1, 32, 16, 1, 1, true},  {2, 16, 32, 4, 2, true},   {2, 32, 48, 4, 2, true},
                            {3, 48, 96, 4, 2, false}, {5, 96, 112, 6, 1, false}, {8, 112, 192, 6, 2, false}};
const std::vector<Stage>& kSmall = *new std::vector<Stage>{
    {2, 24, 24, 1, 1, true},   {4, 24, 48, 4, 2, true},    {4, 48, 64, 4, 2, true},
    {6, 64, 128, 4, 2, false}, {9, 128, 160, 6, 1, false}, {15, 160, 256, 6, 2, false}};
const std::vector<Stage>& kMedium = *new std::vector<Stage>{
    {3, 24, 24, 1, 1, true},   {5, 24, 48, 4, 2, true},     {5, 48, 80, 4, 2, true},
    {7, 80, 160, 4, 2, false}, {14, 160, 176, 6, 1, false}, {18, 176, 304, 6, 2, false},
    {5, 304, 512, 6, 1, false}};
const std::vector<Stage>& kLarge = *new std::vector<Stage>{
    {4, 32, 32, 1, 1, true},    {7, 32, 64, 4, 2, true},     {7, 64, 96, 4, 2, true},
    {10, 96, 192, 4, 2, false}, {19, 192, 224, 6, 1, false}, {25, 224, 384, 6, 2, false},
    {7, 384, 640, 6, 1, false}};

struct Variant {
  std::string name;        // "EfficientNetV2B0"
  std::string keras_name;  // "efficientnetv2-b0"
  const std::vector<Stage>& stages;
  double width, depth;
  int64_t size;
  const char* hash_with_top;
  const char* hash_without_top;
  bool is_base() const { return &stages == &kBase; }
};

/// Unlike make_divisible() it may end far below.
int64_t scaled(int64_t filters, const Variant& variant) {
  return std::max<int64_t>(8, static_cast<int64_t>(static_cast<double>(filters) * variant.width + 4) / 8 * 8);
}

Tensor normalized(const Tensor& x, const std::string& name) {
  return BatchNormalization({.axis = 3, .momentum = 0.9, .name = name})(x);
}

Tensor swish(const Tensor& x, const std::string& name) { return Activation("swish", {.name = name})(x); }

Conv2D convolution(int64_t filters, int64_t kernel, int64_t stride, const std::string& name) {
  return Conv2D(filters, kernel,
                {.strides = stride,
                 .padding = "same",
                 .use_bias = false,
                 .kernel_initializer = efficient_kernel_initializer(),
                 .name = name});
}

Tensor fused_block(const Tensor& input, const Stage& stage, const std::string& prefix) {
  Tensor x = input;
  const bool expands = stage.expansion != 1;
  if (expands) {
    x = convolution(stage.filters_in * stage.expansion, 3, stage.stride, prefix + "expand_conv")(x);
    x = swish(normalized(x, prefix + "expand_bn"), prefix + "expand_activation");
  }
  x = convolution(stage.filters_out, expands ? 1 : 3, expands ? 1 : stage.stride, prefix + "project_conv")(x);
  x = normalized(x, prefix + "project_bn");
  return expands ? x : swish(x, prefix + "project_activation");
}

Tensor inverted_block(const Tensor& input, const Stage& stage, const std::string& prefix) {
  Tensor x = convolution(stage.filters_in * stage.expansion, 1, 1, prefix + "expand_conv")(input);
  x = swish(normalized(x, prefix + "expand_bn"), prefix + "expand_activation");
  x = DepthwiseConv2D(3, {.strides = stage.stride,
                          .padding = "same",
                          .use_bias = false,
                          .depthwise_initializer = efficient_kernel_initializer(),
                          .name = prefix + "dwconv2"})(x);
  x = swish(normalized(x, prefix + "bn"), prefix + "activation");
  x = squeeze_and_excite(x, std::max<int64_t>(1, stage.filters_in / 4), prefix);
  x = convolution(stage.filters_out, 1, 1, prefix + "project_conv")(x);
  return normalized(x, prefix + "project_bn");
}

/// Rates of dropping count the blocks as they are before scaling, as Keras does.
Tensor blocks(Tensor x, const Variant& variant) {
  int64_t total = 0, done = 0;
  for (const Stage& stage : variant.stages) total += stage.blocks;
  char number = '1';
  for (Stage stage : variant.stages) {
    stage.filters_in = scaled(stage.filters_in, variant);
    stage.filters_out = scaled(stage.filters_out, variant);
    const auto count = static_cast<int64_t>(std::ceil(variant.depth * static_cast<double>(stage.blocks)));
    for (int64_t i = 0; i < count; ++i) {
      const std::string prefix = std::string("block") + number + static_cast<char>('a' + i) + "_";
      const double rate = kDropPath * static_cast<double>(done++) / static_cast<double>(total);
      const Tensor y = stage.fused ? fused_block(x, stage, prefix) : inverted_block(x, stage, prefix);
      const bool keeps_shape = stage.stride == 1 && stage.filters_in == stage.filters_out;
      x = keeps_shape ? add_dropped(y, x, rate, prefix) : y;
      stage.stride = 1;
      stage.filters_in = stage.filters_out;
    }
    ++number;
  }
  return x;
}

Tensor preprocessed(const ImageApplication& app, const Variant& variant) {
  if (!app.config().include_preprocessing) return app.image();
  if (!variant.is_base() || app.image_shape()[2] != 3)
    return Rescaling({.scale = 1.0 / 128.0, .offset = -1.0})(app.image());
  const Tensor x = Rescaling(1.0 / 255.0)(app.image());
  return Normalization({.axis = 3,
                        .mean = {0.485, 0.456, 0.406},
                        .variance = {0.229 * 0.229, 0.224 * 0.224, 0.225 * 0.225}})(x);
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(
      config, {.name = variant.name, .default_size = variant.size, .options = {"include_preprocessing"}});
  Tensor x = preprocessed(app, variant);
  x = convolution(scaled(variant.stages[0].filters_in, variant), 3, 2, "stem_conv")(x);
  x = blocks(swish(normalized(x, "stem_bn"), "stem_activation"), variant);
  x = convolution(scaled(1280, variant), 1, 1, "top_conv")(x);
  x = swish(normalized(x, "top_bn"), "top_activation");
  x = app.classify(x, {.pooling = {"avg_pool", "avg_pool", "max_pool"},
                       .dropout = 0.2,
                       .kernel_initializer = efficient_classifier_initializer(),
                       .bias_initializer = Constant(0.0)});
  const std::string file = variant.keras_name + (config.include_top ? "" : "_notop") + ".h5";
  return app.model(
      x, variant.keras_name,
      {.name = file,
       .url = "https://storage.googleapis.com/tensorflow/keras-applications/efficientnet_v2/" + file,
       .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace efficientnet_v2

Model EfficientNetV2B0(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2B0", "efficientnetv2-b0", efficientnet_v2::kBase, 1.0, 1.0, 224,
               "21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"});
}

Model EfficientNetV2B1(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2B1", "efficientnetv2-b1", efficientnet_v2::kBase, 1.0, 1.1, 240,
               "069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"});
}

Model EfficientNetV2B2(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2B2", "efficientnetv2-b2", efficientnet_v2::kBase, 1.1, 1.2, 260,
               "424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"});
}

Model EfficientNetV2B3(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2B3", "efficientnetv2-b3", efficientnet_v2::kBase, 1.2, 1.4, 300,
               "1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"});
}

Model EfficientNetV2S(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2S", "efficientnetv2-s", efficientnet_v2::kSmall, 1.0, 1.0, 384,
               "e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"});
}

Model EfficientNetV2M(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2M", "efficientnetv2-m", efficientnet_v2::kMedium, 1.0, 1.0, 480,
               "a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"});
}

Model EfficientNetV2L(const ApplicationConfig& config) {
  return efficientnet_v2::build(
      config, {"EfficientNetV2L", "efficientnetv2-l", efficientnet_v2::kLarge, 1.0, 1.0, 480,
               "27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"});
}

}  // namespace nyala::applications
