// Segmentation: a U-Net whose encoder is a MobileNetV2, cut at five of its layers, as in TensorFlow's
// tutorial. It learns to find discs in noise, on several devices.
//
//   unet_mobilenet_v2_encoder [--samples 256] [--epochs 4] [--devices 2] [--weights none, imagenet or a file]
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

constexpr int64_t kSize = 96;

/// Twice the height and width, with `filters` channels.
Tensor upsampled(const Tensor& x, int64_t filters) {
  const Tensor y = Conv2DTranspose(filters, 3, {.strides = 2, .padding = "same", .use_bias = false})(x);
  return ReLU()(BatchNormalization()(y));
}

Model unet(const std::string& weights) {
  const Model base = applications::MobileNetV2(
      {.input_shape = {kSize, kSize, 3}, .alpha = 0.35, .include_top = false, .weights = weights});
  base.set_trainable(weights == "none");
  Tensors skips;
  for (const char* name :
       {"block_1_expand_relu", "block_3_expand_relu", "block_6_expand_relu", "block_13_expand_relu"})
    skips.push_back(base.get_layer(name).output());
  Tensor x = base.get_layer("block_16_project").output();
  int64_t filters = 64;
  for (auto skip = skips.rbegin(); skip != skips.rend(); ++skip, filters /= 2)
    x = Concatenate()({upsampled(x, filters), *skip});
  const Tensor mask = Conv2DTranspose(1, 3, {.strides = 2, .padding = "same", .activation = "sigmoid"})(x);
  return Model(base.input(), mask, {.name = "unet"});
}

/// Pictures of one bright disc each, between -1 and 1, and which pixels are the disc's.
Arrays discs(int64_t count) {
  const Tensor noise = ops::random_normal({count, kSize, kSize, 3}, 0, 0.3, {.key = 1});
  std::vector<float> pixels = noise.to_vector<float>();
  std::vector<float> masks(static_cast<size_t>(count * kSize * kSize));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = 20 + i * 37 % 56, column = 20 + i * 53 % 56, radius = 8 + i * 29 % 11;
    for (int64_t y = 0; y < kSize; ++y)
      for (int64_t x = 0; x < kSize; ++x) {
        if ((y - row) * (y - row) + (x - column) * (x - column) > radius * radius) continue;
        const auto pixel = static_cast<size_t>((i * kSize + y) * kSize + x);
        masks[pixel] = 1;
        for (size_t c = 0; c < 3; ++c) pixels[3 * pixel + c] += 0.8f;
      }
  }
  return {Tensor::from(pixels, {count, kSize, kSize, 3}), Tensor::from(masks, {count, kSize, kSize, 1})};
}

int main(int argc, char** argv) {
  const auto number = [&](const char* name, int64_t otherwise) {
    return examples::number_argument(argc, argv, name, otherwise);
  };
  const int devices = static_cast<int>(number("--devices", 2));
  configure_logical_devices("cpu", devices);
  std::vector<std::string> names;
  for (int i = 0; i < devices; ++i) names.push_back("cpu:" + std::to_string(i));
  set_random_seed(1);
  const MirroredStrategy strategy({.devices = names});
  const Model model = strategy.scope([&] {
    const Model net = unet(examples::text_argument(argc, argv, "--weights", "none"));
    net.compile({.optimizer = Adam(0.003), .loss = "binary_crossentropy", .metrics = {metrics::BinaryIoU()}});
    return net;
  });
  const Arrays data = discs(number("--samples", 256));
  const History history =
      model.fit(data, {.batch_size = 16, .epochs = static_cast<int>(number("--epochs", 4)), .verbose = 2});
  std::printf("loss from %.4f to %.4f\n", history["loss"].front(), history["loss"].back());
  return 0;
}
