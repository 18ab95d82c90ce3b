#include <nyala/models/resnet.h>

#include <array>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

namespace resnet {
namespace {

struct Variant {
  std::string name;        // "ResNet50"
  std::string keras_name;  // "resnet50"
  std::array<int, 4> blocks;
  bool preactivated;
  const char* hash_with_top;
  const char* hash_without_top;
};

Tensor normalized(const Tensor& x, const std::string& name) {
  return BatchNormalization({.axis = 3, .epsilon = 1.001e-5, .name = name})(x);
}

Tensor relu(const Tensor& x, const std::string& name) { return Activation("relu", {.name = name})(x); }

Tensor block_v1(const Tensor& input, int64_t filters, int64_t stride, const std::string& name) {
  const bool first = name.ends_with("_block1");
  Tensor shortcut = input;
  if (first) {
    shortcut = Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(input);
    shortcut = normalized(shortcut, name + "_0_bn");
  }
  Tensor x = Conv2D(filters, 1, {.strides = stride, .name = name + "_1_conv"})(input);
  x = relu(normalized(x, name + "_1_bn"), name + "_1_relu");
  x = Conv2D(filters, 3, {.padding = "same", .name = name + "_2_conv"})(x);
  x = relu(normalized(x, name + "_2_bn"), name + "_2_relu");
  x = Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(x);
  x = normalized(x, name + "_3_bn");
  x = Add({.name = name + "_add"})({shortcut, x});
  return relu(x, name + "_out");
}

Tensor block_v2(const Tensor& input, int64_t filters, int64_t stride, const std::string& name) {
  const Tensor active = relu(normalized(input, name + "_preact_bn"), name + "_preact_relu");
  Tensor shortcut = input;
  if (name.ends_with("_block1"))
    shortcut = Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(active);
  else if (stride > 1)
    shortcut = MaxPooling2D(1, {.strides = stride})(input);
  Tensor x = Conv2D(filters, 1, {.use_bias = false, .name = name + "_1_conv"})(active);
  x = relu(normalized(x, name + "_1_bn"), name + "_1_relu");
  x = ZeroPadding2D({{1, 1}, {1, 1}}, {.name = name + "_2_pad"})(x);
  x = Conv2D(filters, 3, {.strides = stride, .use_bias = false, .name = name + "_2_conv"})(x);
  x = relu(normalized(x, name + "_2_bn"), name + "_2_relu");
  x = Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(x);
  return Add({.name = name + "_out"})({shortcut, x});
}

/// Version 1 halves the image in the first block of a stage but the first, version 2 in the last but that of
/// the last.
Tensor stages(Tensor x, const Variant& variant) {
  for (size_t stage = 0; stage < 4; ++stage) {
    const int64_t filters = int64_t{64} << stage;
    const int blocks = variant.blocks[stage];
    for (int i = 1; i <= blocks; ++i) {
      const std::string name = "conv" + std::to_string(stage + 2) + "_block" + std::to_string(i);
      const bool halves = variant.preactivated ? i == blocks && stage < 3 : i == 1 && stage > 0;
      x = variant.preactivated ? block_v2(x, filters, halves ? 2 : 1, name)
                               : block_v1(x, filters, halves ? 2 : 1, name);
    }
  }
  return x;
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config, {.name = variant.name});
  Tensor x = ZeroPadding2D({{3, 3}, {3, 3}}, {.name = "conv1_pad"})(app.image());
  x = Conv2D(64, 7, {.strides = 2, .name = "conv1_conv"})(x);
  if (!variant.preactivated) x = relu(normalized(x, "conv1_bn"), "conv1_relu");
  x = ZeroPadding2D({{1, 1}, {1, 1}}, {.name = "pool1_pad"})(x);
  x = MaxPooling2D(3, {.strides = 2, .name = "pool1_pool"})(x);
  x = stages(x, variant);
  if (variant.preactivated) x = relu(normalized(x, "post_bn"), "post_relu");
  const std::string file = variant.keras_name + "_weights_tf_dim_ordering_tf_kernels" +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(app.classify(x, {.pooling = {"avg_pool", "avg_pool", "max_pool"}}), variant.keras_name,
                   {.name = file,
                    .url = "https://storage.googleapis.com/tensorflow/keras-applications/resnet/" + file,
                    .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace resnet

Model ResNet50(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet50",
                                "resnet50",
                                {3, 4, 6, 3},
                                false,
                                "2cb95161c43110f7111970584f804107",
                                "4d473c1dd8becc155b73f8504c6f6626"});
}

Model ResNet101(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet101",
                                "resnet101",
                                {3, 4, 23, 3},
                                false,
                                "f1aeb4b969a6efcfb50fad2f0c20cfc5",
                                "88cf7a10940856eca736dc7b7e228a21"});
}

Model ResNet152(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet152",
                                "resnet152",
                                {3, 8, 36, 3},
                                false,
                                "100835be76be38e30d865e96f2aaae62",
                                "ee4c566cf9a93f14d82f913c2dc6dd0c"});
}

Model ResNet50V2(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet50V2",
                                "resnet50v2",
                                {3, 4, 6, 3},
                                true,
                                "3ef43a0b657b3be2300d5770ece849e0",
                                "fac2f116257151a9d068a22e544a4917"});
}

Model ResNet101V2(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet101V2",
                                "resnet101v2",
                                {3, 4, 23, 3},
                                true,
                                "6343647c601c52e1368623803854d971",
                                "c0ed64b8031c3730f411d2eb4eea35b5"});
}

Model ResNet152V2(const ApplicationConfig& config) {
  return resnet::build(config, {"ResNet152V2",
                                "resnet152v2",
                                {3, 8, 36, 3},
                                true,
                                "a49b44d1979771252814e80f8ec446f9",
                                "ed17cf2e0169df9d443503ef94b23b33"});
}

}  // namespace nyala::applications
