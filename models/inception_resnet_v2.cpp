#include <nyala/models/inception_resnet_v2.h>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>
#include <nyala/models/inception_blocks.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace inception_resnet_v2 {
namespace {

// Most layers have automatic names: the order in which they are made is that of Keras.

Tensor halved(const Tensor& x) { return MaxPooling2D(3, {.strides = 2})(x); }

Tensor stem(const Tensor& image) {
  Tensor x = unit(image, {32, 3, true});
  x = unit(x, {32, 3}, true);
  x = unit(x, {64, 3});
  x = unit(halved(x), {80, 1}, true);
  x = halved(unit(x, {192, 3}, true));
  const Tensor a = branch(x, {{96}});
  const Tensor b = branch(x, {{48}, {64, 5}});
  const Tensor c = branch(x, {{64}, {96, 3}, {96, 3}});
  const Tensor pooled = AveragePooling2D(3, {.strides = 1, .padding = "same"})(x);
  return joined({a, b, c, branch(pooled, {{64}})}, "mixed_5b");
}

/// Branches whose mix is scaled and added to the input. `name`: "block35_1".
struct Block {
  std::vector<std::vector<Unit>> branches;
  double scale;
  std::string name;
  bool activated = true;
};

Tensor residual(const Tensor& input, const Block& block) {
  Tensors parts;
  for (const std::vector<Unit>& units : block.branches) parts.push_back(branch(input, units));
  Tensor x = joined(parts, block.name + "_mixed");
  x = Conv2D(input.shape().back(), 1, {.padding = "same", .name = block.name + "_conv"})(x);
  x = CustomScaleLayer(block.scale)({input, x});
  return block.activated ? Activation("relu", {.name = block.name + "_ac"})(x) : x;
}

Tensor features(const Tensor& image) {
  const std::vector<std::vector<Unit>> block35 = {{{32}}, {{32}, {32, 3}}, {{32}, {48, 3}, {64, 3}}};
  const std::vector<std::vector<Unit>> block17 = {{{192}}, {{128}, {160, {1, 7}}, {192, {7, 1}}}};
  const std::vector<std::vector<Unit>> block8 = {{{192}}, {{192}, {224, {1, 3}}, {256, {3, 1}}}};
  Tensor x = stem(image);
  for (int i = 1; i <= 10; ++i) x = residual(x, {block35, 0.17, "block35_" + std::to_string(i)});
  Tensor a = branch(x, {{384, 3, true}});
  Tensor b = branch(x, {{256}, {256, 3}, {384, 3, true}});
  x = joined({a, b, halved(x)}, "mixed_6a");
  for (int i = 1; i <= 20; ++i) x = residual(x, {block17, 0.1, "block17_" + std::to_string(i)});
  a = branch(x, {{256}, {384, 3, true}});
  b = branch(x, {{256}, {288, 3, true}});
  const Tensor c = branch(x, {{256}, {288, 3}, {320, 3, true}});
  x = joined({a, b, c, halved(x)}, "mixed_7a");
  for (int i = 1; i <= 9; ++i) x = residual(x, {block8, 0.2, "block8_" + std::to_string(i)});
  x = residual(x, {block8, 1.0, "block8_10", false});
  x = Conv2D(1536, 1, {.padding = "same", .use_bias = false, .name = "conv_7b"})(x);
  x = BatchNormalization({.axis = 3, .scale = false, .name = "conv_7b_bn"})(x);
  return Activation("relu", {.name = "conv_7b_ac"})(x);
}

}  // namespace
}  // namespace inception_resnet_v2

Model InceptionResNetV2(const ApplicationConfig& config) {
  using namespace inception_resnet_v2;
  const ImageApplication app(config, {.name = "InceptionResNetV2", .default_size = 299, .min_size = 75});
  const Tensor x = features(app.image());
  const std::string file = std::string("inception_resnet_v2_weights_tf_dim_ordering_tf_kernels") +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(
      app.classify(x, {.pooling = {.with_top = "avg_pool"}}), "inception_resnet_v2",
      {.name = file,
       .url = "https://storage.googleapis.com/tensorflow/keras-applications/inception_resnet_v2/" + file,
       .hash = config.include_top ? "e693bd0210a403b3192acc6073ad2e96" : "d19885ff4a710c122648d3b5c3b684e4"});
}

}  // namespace nyala::applications
