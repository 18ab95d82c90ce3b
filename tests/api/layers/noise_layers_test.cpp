#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

std::vector<float> trained(const Layer& layer, const Tensor& x, int64_t first_row = 0) {
  layer.node().ensure_built({x.shape()});
  Call call({.training = true,
             .tape = nullptr,
             .replica = nullptr,
             .first_row = first_row,
             .rows = x.shape()[0],
             .step = Tensor::scalar(int64_t{2})});
  return layer(call, x).to_vector<float>();
}

struct Statistics {
  double mean = 0.0, variance = 0.0;
};
Statistics statistics_of(const std::vector<float>& values) {
  Statistics s;
  const double count = static_cast<double>(values.size());
  for (const float value : values) s.mean += static_cast<double>(value) / count;
  for (const float value : values) s.variance += std::pow(static_cast<double>(value) - s.mean, 2) / count;
  return s;
}

TEST(SpatialDropoutLayers, DropWholeChannels) {
  const std::vector<Layer> layers = {SpatialDropout1D(0.5, {.seed = 1}), SpatialDropout2D(0.5, {.seed = 1}),
                                     SpatialDropout3D(0.5, {.seed = 1})};
  const Shapes shapes = {{8, 12, 5}, {8, 3, 4, 5}, {8, 2, 3, 2, 5}};
  for (size_t k = 0; k < 3; ++k) {
    const auto y = trained(layers[k], Tensor::full(shapes[k], 1.0));
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], y[i / 60 * 60 + i % 5]);
    EXPECT_GT(std::count(y.begin(), y.end(), 0.0f), 0);
    EXPECT_GT(std::count(y.begin(), y.end(), 2.0f), 0);
  }
}

TEST(NoiseLayers, HaveTheirStatistics) {
  const Tensor x = Tensor::full({400, 100}, 3.0);
  const Statistics added = statistics_of(trained(GaussianNoise(0.5, {.seed = 1}), x));
  EXPECT_NEAR(added.mean, 3.0, 0.0125);
  EXPECT_NEAR(added.variance, 0.25, 0.009);
  const Statistics times = statistics_of(trained(GaussianDropout(0.2, {.seed = 1}), x));
  EXPECT_NEAR(times.mean, 3.0, 0.0375);
  EXPECT_NEAR(times.variance, 9.0 * 0.25, 0.08);
}

TEST(NoiseLayers, AlphaDropoutKeepsMeanAndVariance) {
  const Tensor x = Tensor::zeros({400, 100});
  const std::vector<float> standard = trained(GaussianNoise(1.0, {.seed = 4}), x);
  const auto y = trained(AlphaDropout(0.3, {.seed = 1}), Tensor::from(standard, {400, 100}));
  const Statistics s = statistics_of(y);
  EXPECT_NEAR(s.mean, 0.0, 0.03);
  EXPECT_NEAR(s.variance, 1.0, 0.05);
  const float least = *std::min_element(y.begin(), y.end());
  const auto dropped = std::count_if(y.begin(), y.end(), [](float v) { return std::abs(v + 1.0f) < 0.2f; });
  EXPECT_GT(dropped, 11000);
  EXPECT_LT(least, -1.0f);
}

TEST(NoiseLayers, PartsOfABatchDrawWhatTheWholeDraws) {
  const std::vector<Layer> layers = {GaussianNoise(0.5, {.seed = 1}), GaussianDropout(0.4, {.seed = 1}),
                                     AlphaDropout(0.4, {.noise_shape = {None, 1}, .seed = 1}),
                                     AlphaDropout(0.4, {.seed = 1})};
  for (const Layer& layer : layers) {
    const auto whole = trained(layer, Tensor::full({7, 5}, 1.0));
    auto parts = trained(layer, Tensor::full({3, 5}, 1.0));
    for (const float value : trained(layer, Tensor::full({4, 5}, 1.0), 3)) parts.push_back(value);
    EXPECT_EQ(parts, whole) << layer.class_name();
    EXPECT_TRUE(trained(layer, Tensor::zeros({0, 5})).empty());
    EXPECT_EQ(layer(Tensor::full({1, 5}, 1.0)).to_vector<float>(), std::vector<float>(5, 1.0f));
  }
}

TEST(NoiseLayers, RefuseWhatDoesNotFit) {
  EXPECT_THROW(GaussianNoise(1.5), InvalidArgumentError);
  EXPECT_THROW(GaussianNoise(-0.5), InvalidArgumentError);
  EXPECT_THROW(GaussianDropout(1.0), InvalidArgumentError);
  EXPECT_THROW(AlphaDropout(-0.1), InvalidArgumentError);
  EXPECT_THROW(SpatialDropout1D(1.1), InvalidArgumentError);
  EXPECT_THROW(SpatialDropout1D(0.5)(Tensor::zeros({2, 2, 2, 2})), ShapeError);
  EXPECT_THROW(SpatialDropout3D(0.5)(Tensor::zeros({2, 2})), ShapeError);
  EXPECT_THROW(SpatialDropout2D(0.5, {.data_format = "channels_middle"}), InvalidArgumentError);
  EXPECT_THROW(trained(GaussianNoise(0.5), Tensor::zeros({2, 2}, DType::int32)), DTypeError);
  EXPECT_THROW(trained(AlphaDropout(0.5, {.noise_shape = {3, 1}}), Tensor::zeros({2, 2})), ShapeError);
}

}  // namespace
}  // namespace nyala
