// A U-Net that finds discs and squares in noisy pictures, trained on two devices. A part of its loss is Dice
// over the whole batch, which both devices compute together.
//
//   unet_shapes [--pictures 800] [--epochs 4] [--devices 2] [--output unet.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>
#include <random>

using namespace nyala;

constexpr int64_t kSize = 32, kClasses = 3;  // background, disc, square

Arrays make_pictures(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0.0f, 0.3f);
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t i = 0; i < count; ++i) {
    const int center[2][2] = {{8 + int(random() % 16), 8 + int(random() % 16)},
                              {8 + int(random() % 16), 8 + int(random() % 16)}};
    const int radius = 4 + int(random() % 4);
    for (int row = 0; row < kSize; ++row)
      for (int column = 0; column < kSize; ++column) {
        const int a = row - center[0][0], b = column - center[0][1], c = row - center[1][0],
                  d = column - center[1][1];
        const int32_t label = std::max(std::abs(c), std::abs(d)) < radius ? 2
                              : a * a + b * b < radius * radius           ? 1
                                                                          : 0;
        y.push_back(label);
        x.push_back((label ? 1.0f : 0.0f) + noise(random));
      }
  }
  return {Tensor::from(x, {count, kSize, kSize, 1}), Tensor::from(y, {count, kSize, kSize})};
}

/// The mean of the pixels' crossentropies and what the classes' overlap in the batch, Dice, lacks to 1.
Tensor crossentropy_and_dice(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor wanted = ops::one_hot(y_true, kClasses).reshape(y_pred.shape());
  const Tensor both = (wanted * y_pred).sum({0, 1, 2}), all = (wanted + y_pred).sum({0, 1, 2});
  return ops::sparse_categorical_crossentropy(y_true, y_pred).mean() + 1.0 -
         (2.0 * both / (all + 1e-7)).mean();
}

Tensor two_convolutions(const Tensor& x, int64_t filters) {
  const Conv2DConfig config = {.padding = "same", .activation = "relu", .kernel_initializer = "he_normal"};
  return BatchNormalization()(Conv2D(filters, 3, config)(Conv2D(filters, 3, config)(x)));
}

Model make_unet() {
  const Tensor image = Input({kSize, kSize, 1});
  std::vector<Tensor> skips;
  Tensor x = image;
  for (const int64_t filters : {8, 16}) {
    skips.push_back(two_convolutions(x, filters));
    x = MaxPooling2D(2)(skips.back());
  }
  x = two_convolutions(x, 32);
  for (const int64_t filters : {16, 8}) {
    x = Conv2DTranspose(filters, 2, {.strides = 2, .padding = "same"})(x);
    x = two_convolutions(Concatenate()({x, skips.back()}), filters);
    skips.pop_back();
  }
  return Model(image, Conv2D(kClasses, 1, {.activation = "softmax"})(x), {.name = "unet"});
}

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv, 2);
  const int64_t count = examples::number_argument(argc, argv, "--pictures", 800);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 4));
  const std::string output = examples::text_argument(argc, argv, "--output", "unet.keras");
  set_random_seed(1);
  register_serializable("shapes", "crossentropy_and_dice", crossentropy_and_dice);
  const Arrays train = make_pictures(count, 1), test = make_pictures(100, 2);

  const Model unet = strategy.scope(make_unet);
  unet.compile(
      {.optimizer = Adam(3e-3),
       .loss = Loss(crossentropy_and_dice, {.name = "crossentropy_and_dice", .rows_are_independent = false}),
       .metrics = {"accuracy",
                   metrics::MeanIoU({.num_classes = kClasses, .sparse_y_pred = false, .name = "iou"})}});
  unet.fit(train, {.batch_size = 32, .epochs = epochs, .verbose = 2, .validation_data = test});
  unet.save(output);

  const Model loaded = OneDeviceStrategy("cpu:0").scope([&] { return load_model(output); });
  const Logs logs = loaded.evaluate(test, {.verbose = 0});
  std::printf("from the file, on one device: accuracy %.4f, mean IoU %.4f\n", logs["accuracy"], logs["iou"]);
  const Tensor mask = loaded.predict(test.x[slice(1)], {.verbose = 0}).argmax(-1);
  for (int64_t row = 4; row < 28; row += 2) {
    for (int64_t column = 0; column < kSize; ++column)
      std::printf("%c", ".o#"[mask.at<int32_t>({0, row, column})]);
    std::printf("\n");
  }
}
