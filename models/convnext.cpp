#include <nyala/models/convnext.h>

#include <array>

#include <nyala/api/layers/all.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

namespace convnext {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr double kLayerScale = 1e-6;

struct Variant {
  std::string name;        // "ConvNeXtTiny"
  std::string keras_name;  // "convnext_tiny"
  std::array<int64_t, 4> blocks, channels;
  const char* hash_with_top;
  const char* hash_without_top;
};

Tensor block(const Tensor& input, int64_t channels, const std::string& name) {
  Tensor x =
      Conv2D(channels, 7, {.padding = "same", .groups = channels, .name = name + "_depthwise_conv"})(input);
  x = LayerNormalization({.epsilon = kEpsilon, .name = name + "_layernorm"})(x);
  x = Dense(4 * channels, {.name = name + "_pointwise_conv_1"})(x);
  x = Activation("gelu", {.name = name + "_gelu"})(x);
  x = Dense(channels, {.name = name + "_pointwise_conv_2"})(x);
  x = LayerScale(kLayerScale, channels, {.name = name + "_layer_scale"})(x);
  // Where a rate of dropping were above 0, a StochasticDepth layer would stand here; Keras' models have none.
  x = Activation("linear", {.name = name + "_identity"})(x);
  return input + x;
}

/// What stands in front of a stage: a patch of pixels becomes one.
Sequential downsampling(const std::string& name, size_t stage, int64_t channels) {
  if (stage == 0)
    return Sequential({Conv2D(channels, 4, {.strides = 4, .name = name + "_stem_conv"}),
                       LayerNormalization({.epsilon = kEpsilon, .name = name + "_stem_layernorm"})},
                      {.name = name + "_stem"});
  const std::string number = std::to_string(stage - 1);
  return Sequential(
      {LayerNormalization({.epsilon = kEpsilon, .name = name + "_downsampling_layernorm_" + number}),
       Conv2D(channels, 2, {.strides = 2, .name = name + "_downsampling_conv_" + number})},
      {.name = name + "_downsampling_block_" + number});
}

Tensor preprocessed(const ImageApplication& app, const std::string& name) {
  if (!app.config().include_preprocessing || app.image_shape()[2] != 3) return app.image();
  const auto squared = [](double deviation) { return (deviation * 255) * (deviation * 255); };
  return Normalization({.mean = {0.485 * 255, 0.456 * 255, 0.406 * 255},
                        .variance = {squared(0.229), squared(0.224), squared(0.225)},
                        .name = name + "_prestem_normalization"})(app.image());
}

Tensor head(const ImageApplication& app, const Tensor& features, const std::string& name) {
  const ApplicationConfig& config = app.config();
  if (!config.include_top) return LayerNormalization({.epsilon = kEpsilon})(app.pool(features, {}));
  Tensor x = GlobalAveragePooling2D({.name = name + "_head_gap"})(features);
  x = LayerNormalization({.epsilon = kEpsilon, .name = name + "_head_layernorm"})(x);
  return Dense(config.classes, {.activation = config.classifier_activation, .name = name + "_head_dense"})(x);
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config, {.name = variant.name, .options = {"include_preprocessing"}});
  const std::string name = config.name.empty() ? variant.keras_name : config.name;  // of layers as well
  Tensor x = preprocessed(app, name);
  for (size_t stage = 0; stage < 4; ++stage) {
    x = downsampling(name, stage, variant.channels[stage])(x);
    for (int64_t i = 0; i < variant.blocks[stage]; ++i)
      x = block(x, variant.channels[stage],
                name + "_stage_" + std::to_string(stage) + "_block_" + std::to_string(i));
  }
  const std::string file = variant.keras_name + (config.include_top ? "" : "_notop") + ".h5";
  return app.model(head(app, x, name), name,
                   {.name = file,
                    .url = "https://storage.googleapis.com/tensorflow/keras-applications/convnext/" + file,
                    .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace convnext

Model ConvNeXtTiny(const ApplicationConfig& config) {
  return convnext::build(config, {"ConvNeXtTiny",
                                  "convnext_tiny",
                                  {3, 3, 9, 3},
                                  {96, 192, 384, 768},
                                  "8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff",
                                  "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1"});
}

Model ConvNeXtSmall(const ApplicationConfig& config) {
  return convnext::build(config, {"ConvNeXtSmall",
                                  "convnext_small",
                                  {3, 3, 27, 3},
                                  {96, 192, 384, 768},
                                  "ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c",
                                  "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab"});
}

Model ConvNeXtBase(const ApplicationConfig& config) {
  return convnext::build(config, {"ConvNeXtBase",
                                  "convnext_base",
                                  {3, 3, 27, 3},
                                  {128, 256, 512, 1024},
                                  "52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6",
                                  "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45"});
}

Model ConvNeXtLarge(const ApplicationConfig& config) {
  return convnext::build(config, {"ConvNeXtLarge",
                                  "convnext_large",
                                  {3, 3, 27, 3},
                                  {192, 384, 768, 1536},
                                  "070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6",
                                  "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd"});
}

Model ConvNeXtXLarge(const ApplicationConfig& config) {
  return convnext::build(config, {"ConvNeXtXLarge",
                                  "convnext_xlarge",
                                  {3, 3, 27, 3},
                                  {256, 512, 1024, 2048},
                                  "c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee",
                                  "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05"});
}

}  // namespace nyala::applications
