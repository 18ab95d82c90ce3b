#include <nyala/models/efficientnet.h>

#include <array>
#include <cmath>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>
#include <nyala/models/mobile_blocks.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace efficientnet {
namespace {

constexpr double kDropPath = 0.2;

struct Variant {
  double width, depth;
  int64_t size;
  double dropout;
  const char* hash_with_top;
  const char* hash_without_top;
};

const std::array<Variant, 8> kVariants = {{
    {1.0, 1.0, 224, 0.2, "902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"},
    {1.0, 1.1, 240, 0.2, "1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"},
    {1.1, 1.2, 260, 0.3, "b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"},
    {1.2, 1.4, 300, 0.3, "ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"},
    {1.4, 1.8, 380, 0.4, "18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"},
    {1.6, 2.2, 456, 0.4, "ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"},
    {1.8, 2.6, 528, 0.5, "165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"},
    {2.0, 3.1, 600, 0.5, "8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"},
}};

/// Blocks of one kind before scaling: the first has these strides.
struct Stage {
  int64_t kernel, blocks, filters_in, filters_out, expansion, stride;
};
constexpr Stage kStages[] = {{3, 1, 32, 16, 1, 1},  {3, 2, 16, 24, 6, 2},  {5, 2, 24, 40, 6, 2},
                             {3, 3, 40, 80, 6, 2},  {5, 3, 80, 112, 6, 1}, {5, 4, 112, 192, 6, 2},
                             {3, 1, 192, 320, 6, 1}};

int64_t scaled(int64_t filters, const Variant& variant) {
  return make_divisible(static_cast<double>(filters) * variant.width);
}

int64_t repeated(int64_t blocks, const Variant& variant) {
  return static_cast<int64_t>(std::ceil(variant.depth * static_cast<double>(blocks)));
}

Tensor activated(const Tensor& x, const std::string& batch_normalization, const std::string& activation) {
  const Tensor y = BatchNormalization({.axis = 3, .name = batch_normalization})(x);
  return Activation("swish", {.name = activation})(y);
}

Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name) {
  return Conv2D(filters, 1,
                {.padding = "same",
                 .use_bias = false,
                 .kernel_initializer = efficient_kernel_initializer(),
                 .name = name})(x);
}

/// `stage` with scaled filters.
Tensor block(const Tensor& input, const Stage& stage, double drop_rate, const std::string& prefix) {
  Tensor x = input;
  if (stage.expansion != 1)
    x = activated(pointwise(x, stage.filters_in * stage.expansion, prefix + "expand_conv"),
                  prefix + "expand_bn", prefix + "expand_activation");
  if (stage.stride == 2) x = ZeroPadding2D(correct_pad(x, stage.kernel), {.name = prefix + "dwconv_pad"})(x);
  x = DepthwiseConv2D(stage.kernel, {.strides = stage.stride,
                                     .padding = stage.stride == 2 ? "valid" : "same",
                                     .use_bias = false,
                                     .depthwise_initializer = efficient_kernel_initializer(),
                                     .name = prefix + "dwconv"})(x);
  x = activated(x, prefix + "bn", prefix + "activation");
  x = squeeze_and_excite(x, std::max<int64_t>(1, stage.filters_in / 4), prefix);
  x = pointwise(x, stage.filters_out, prefix + "project_conv");
  x = BatchNormalization({.axis = 3, .name = prefix + "project_bn"})(x);
  const bool keeps_shape = stage.stride == 1 && stage.filters_in == stage.filters_out;
  return keeps_shape ? add_dropped(x, input, drop_rate, prefix) : x;
}

Tensor blocks(Tensor x, const Variant& variant) {
  int64_t total = 0, done = 0;
  for (const Stage& stage : kStages) total += repeated(stage.blocks, variant);
  char number = '1';
  for (Stage stage : kStages) {
    stage.filters_in = scaled(stage.filters_in, variant);
    stage.filters_out = scaled(stage.filters_out, variant);
    const int64_t count = repeated(stage.blocks, variant);
    for (int64_t i = 0; i < count; ++i) {
      const std::string prefix = std::string("block") + number + static_cast<char>('a' + i) + "_";
      x = block(x, stage, kDropPath * static_cast<double>(done++) / static_cast<double>(total), prefix);
      stage.stride = 1;
      stage.filters_in = stage.filters_out;
    }
    ++number;
  }
  return x;
}

Model build(const ApplicationConfig& config, size_t number) {
  const Variant& variant = kVariants[number];
  const std::string keras_name = "efficientnetb" + std::to_string(number);
  const ImageApplication app(
      config, {.name = "EfficientNetB" + std::to_string(number), .default_size = variant.size});
  Tensor x = Rescaling(1.0 / 255.0)(app.image());
  x = Normalization({.axis = 3})(x);
  // The published weights were trained on images divided by the deviations' square roots once more.
  if (app.imagenet())
    x = Rescaling({.scale = {1.0 / std::sqrt(0.229), 1.0 / std::sqrt(0.224), 1.0 / std::sqrt(0.225)}})(x);
  x = ZeroPadding2D(correct_pad(x, 3), {.name = "stem_conv_pad"})(x);
  x = Conv2D(scaled(32, variant), 3,
             {.strides = 2,
              .use_bias = false,
              .kernel_initializer = efficient_kernel_initializer(),
              .name = "stem_conv"})(x);
  x = blocks(activated(x, "stem_bn", "stem_activation"), variant);
  x = activated(pointwise(x, scaled(1280, variant), "top_conv"), "top_bn", "top_activation");
  x = app.classify(x, {.pooling = {"avg_pool", "avg_pool", "max_pool"},
                       .dropout = variant.dropout,
                       .kernel_initializer = efficient_classifier_initializer()});
  const std::string file = keras_name + (config.include_top ? "" : "_notop") + ".h5";
  return app.model(x, keras_name,
                   {.name = file,
                    .url = "https://storage.googleapis.com/keras-applications/" + file,
                    .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace efficientnet

Model EfficientNetB0(const ApplicationConfig& config) { return efficientnet::build(config, 0); }
Model EfficientNetB1(const ApplicationConfig& config) { return efficientnet::build(config, 1); }
Model EfficientNetB2(const ApplicationConfig& config) { return efficientnet::build(config, 2); }
Model EfficientNetB3(const ApplicationConfig& config) { return efficientnet::build(config, 3); }
Model EfficientNetB4(const ApplicationConfig& config) { return efficientnet::build(config, 4); }
Model EfficientNetB5(const ApplicationConfig& config) { return efficientnet::build(config, 5); }
Model EfficientNetB6(const ApplicationConfig& config) { return efficientnet::build(config, 6); }
Model EfficientNetB7(const ApplicationConfig& config) { return efficientnet::build(config, 7); }

}  // namespace nyala::applications
