// Every kind of architecture gives with BatchNormalization folded what it gives without.
#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/nyala.h>

namespace nyala {
namespace {

struct Case {
  std::string name;
  std::function<Model(const applications::ApplicationConfig&)> make;
  int64_t pixels;
  bool folds = true;
};

/// BatchNormalization as after training: no scale of 1, no mean of 0.
void scramble(const Model& model) {
  DrawStream random(3);
  for (const Variable& variable : model.weights()) {
    const std::string& name = variable.name();
    const bool positive = name == "gamma" || name == "moving_variance";
    if (!positive && name != "beta" && name != "moving_mean") continue;
    std::vector<float> values(static_cast<size_t>(variable.shape().num_elements()));
    for (float& value : values)
      value = static_cast<float>(positive ? 0.5 + random.uniform() : 0.6 * random.uniform() - 0.3);
    variable.assign(Tensor::from(values, variable.shape()));
  }
}

void expect_same(const Case& test) {
  SCOPED_TRACE(test.name);
  set_random_seed(1);
  const Model model = test.make({.input_shape = {test.pixels, test.pixels, 3},
                                 .include_top = false,
                                 .weights = "none",
                                 .pooling = "avg"});
  scramble(model);
  DrawStream random(5);
  std::vector<float> pixels(static_cast<size_t>(2 * test.pixels * test.pixels * 3));
  for (float& value : pixels) value = static_cast<float>(2 * random.uniform() - 1);
  const Tensor x = Tensor::from(pixels, {2, test.pixels, test.pixels, 3});
  const auto predict = [&](bool fold) {
    return model.predict(x, {.verbose = 0, .fold_batch_normalization = fold}).to_vector<float>();
  };
  const uint64_t start = dispatch_count();
  const std::vector<float> plain = predict(false);
  const uint64_t plain_ops = dispatch_count() - start;
  const std::vector<float> folded = predict(true);
  const uint64_t warm = dispatch_count();
  EXPECT_EQ(predict(true), folded);
  const uint64_t folded_ops = dispatch_count() - warm;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(plain[i])));
    difference = std::max(difference, static_cast<double>(std::abs(plain[i] - folded[i])));
  }
  std::printf("%-18s ops %4llu -> %4llu, difference %.2g of %.3g\n", test.name.c_str(),
              static_cast<unsigned long long>(plain_ops), static_cast<unsigned long long>(folded_ops),
              difference, largest);
  EXPECT_GT(largest, 0.0);
  EXPECT_LE(difference, 1e-4 * largest);
  if (test.folds)
    EXPECT_LT(folded_ops, plain_ops);
  else
    EXPECT_EQ(folded_ops, plain_ops);
}

TEST(Folding, Applications) {
  using namespace applications;
  for (const Case& test : std::vector<Case>{{"MobileNet", MobileNet, 64},
                                            {"MobileNetV2", MobileNetV2, 64},
                                            {"MobileNetV3Small", MobileNetV3Small, 64},
                                            {"ResNet50", ResNet50, 64},
                                            {"ResNet50V2", ResNet50V2, 64},
                                            {"Xception", Xception, 71},
                                            {"InceptionV3", InceptionV3, 75},
                                            {"DenseNet121", DenseNet121, 64},
                                            {"EfficientNetB0", EfficientNetB0, 64},
                                            {"EfficientNetV2B0", EfficientNetV2B0, 64},
                                            {"NASNetMobile", NASNetMobile, 64},
                                            {"VGG16", VGG16, 32, false}})
    expect_same(test);
}

}  // namespace
}  // namespace nyala
