#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {
namespace {

struct Draw {
  int64_t step = 0;
  int64_t first_row = 0;
};

std::vector<float> dropped(const Layer& layer, const Tensor& x, const Draw& draw = {}) {
  layer.node().ensure_built({x.shape()});
  Call call({.training = true,
             .tape = nullptr,
             .replica = nullptr,
             .first_row = draw.first_row,
             .rows = x.shape()[0],
             .step = Tensor::scalar(draw.step)});
  return layer(call, x).to_vector<float>();
}

Tensor ones(const Shape& shape) { return Tensor::full(shape, 1.0); }

TEST(DropoutLayer, DropsTheRateAndKeepsTheMean) {
  const auto y = dropped(Dropout(0.25, {.seed = 1}), ones({100, 100}));
  const auto zeros = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeros), 2500, 5 * 43);
  for (float value : y) EXPECT_TRUE(value == 0.0f || value == 1.0f / 0.75f);
}

TEST(DropoutLayer, SeedAndStepDecide) {
  const Tensor x = ones({8, 8});
  EXPECT_EQ(dropped(Dropout(0.5, {.seed = 1}), x), dropped(Dropout(0.5, {.seed = 1}), x));
  EXPECT_NE(dropped(Dropout(0.5, {.seed = 1}), x), dropped(Dropout(0.5, {.seed = 2}), x));
  EXPECT_NE(dropped(Dropout(0.5, {.seed = 1}), x), dropped(Dropout(0.5, {.seed = 1}), x, {.step = 1}));
  EXPECT_NE(dropped(Dropout(0.5), x), dropped(Dropout(0.5), x));
}

TEST(DropoutLayer, UnseededOnesFollowTheGlobalSeed) {
  set_random_seed(5);
  const auto first = dropped(Dropout(0.5), ones({8, 8}));
  set_random_seed(5);
  EXPECT_EQ(dropped(Dropout(0.5), ones({8, 8})), first);
}

TEST(DropoutLayer, PartsOfABatchDrawWhatTheWholeDraws) {
  const Layer layer = Dropout(0.5, {.seed = 1});
  const auto whole = dropped(layer, ones({7, 5}));
  auto parts = dropped(layer, ones({3, 5}));
  for (float value : dropped(layer, ones({4, 5}), {.first_row = 3})) parts.push_back(value);
  EXPECT_EQ(parts, whole);
}

TEST(DropoutLayer, TwoCallsInOnePassDiffer) {
  const Dropout layer(0.5, {.seed = 1});
  const Tensor x = ones({8, 8});
  layer.node().ensure_built({x.shape()});
  Call call(
      {.training = true, .tape = nullptr, .replica = nullptr, .rows = 8, .step = Tensor::scalar(int64_t{0})});
  const auto first = layer(call, x).to_vector<float>();
  EXPECT_NE(layer(call, x).to_vector<float>(), first);
}

TEST(DropoutLayer, NoiseShapeSharesDraws) {
  const auto y = dropped(Dropout(0.5, {.noise_shape = {None, 1, 4}, .seed = 3}), ones({5, 6, 4}));
  for (size_t row = 0; row < 5; ++row)
    for (size_t i = 0; i < 24; ++i) EXPECT_EQ(y[row * 24 + i], y[row * 24 + i % 4]);
  EXPECT_NE(std::count(y.begin(), y.end(), 0.0f), 0);
  EXPECT_THROW(dropped(Dropout(0.5, {.noise_shape = {3, 4}}), ones({5, 4})), ShapeError);
}

TEST(DropoutLayer, RatesZeroAndOneAndInference) {
  EXPECT_EQ(dropped(Dropout(0.0), ones({2, 2})), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(dropped(Dropout(1.0), ones({2, 2})), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(Dropout(0.9)(ones({2, 2})).to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
}

TEST(DropoutLayer, TellsItsKey) {
  const Dropout layer(0.5, {.seed = 1});
  ASSERT_NE(layer.node().random_key(), nullptr);
  const auto before = dropped(layer, ones({8, 8}));
  *layer.node().random_key() += 1;
  EXPECT_NE(dropped(layer, ones({8, 8})), before);
}

}  // namespace
}  // namespace nyala
