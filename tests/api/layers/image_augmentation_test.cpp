#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::image_augmentation_test {
namespace {

struct Draw {
  int64_t step = 2;
  int64_t first_row = 0;
};

Tensor trained(const Layer& layer, const Tensor& x, const Draw& draw = {}) {
  layer.node().ensure_built({x.shape()});
  Call call({.training = true,
             .tape = nullptr,
             .replica = nullptr,
             .first_row = draw.first_row,
             .rows = x.shape()[0],
             .step = Tensor::scalar(draw.step)});
  return layer(call, x);
}

std::vector<float> numbers(const Layer& layer, const Tensor& x, const Draw& draw = {}) {
  return trained(layer, x, draw).to_vector<float>();
}

/// Images with a ramp to the right in channel 0 and one down in channel 1.
Tensor ramps(int64_t rows, int64_t height, int64_t width) {
  std::vector<float> values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        values.push_back(static_cast<float>(x));
        values.push_back(static_cast<float>(y));
      }
  return Tensor::from(values, {rows, height, width, 2});
}

std::vector<Layer> all_layers(const std::string& data_format = {}) {
  return {
      RandomFlip({.seed = 1, .data_format = data_format}),
      RandomFlip("horizontal", {.seed = 1, .data_format = data_format}),
      RandomRotation(0.3, {.seed = 1, .data_format = data_format}),
      RandomZoom(0.5, {.seed = 1, .data_format = data_format}),
      RandomTranslation(0.5, {-0.2, 0.4}, {.fill_mode = "constant", .seed = 1, .data_format = data_format}),
      RandomContrast(0.9, {.seed = 1, .data_format = data_format}),
      RandomBrightness(0.5, {.seed = 1, .data_format = data_format}),
      RandomCrop(3, 4, {.seed = 1, .data_format = data_format})};
}

TEST(ImageAugmentation, PartsOfABatchDrawWhatTheWholeDraws) {
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    const Tensor x = ramps(7, 5, 6);
    const auto whole = numbers(layer, x);
    auto parts = numbers(layer, x.rows(0, 3));
    EXPECT_TRUE(numbers(layer, x.rows(0, 0), {.first_row = 3}).empty());
    for (const float value : numbers(layer, x.rows(3, 4), {.first_row = 3})) parts.push_back(value);
    EXPECT_EQ(parts, whole);
    EXPECT_EQ(numbers(layer, x), whole);
    EXPECT_NE(numbers(layer, x, {.step = 3}), whole);
  }
}

TEST(ImageAugmentation, EachImageIsChangedOnItsOwnButForCrops) {
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    const auto y = numbers(layer, ramps(6, 5, 6));
    const size_t size = y.size() / 6;
    size_t equal = 0;
    for (size_t row = 1; row < 6; ++row)
      equal += std::equal(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(size),
                          y.begin() + static_cast<std::ptrdiff_t>(row * size));
    if (layer.class_name() == "RandomCrop")
      EXPECT_EQ(equal, 5u);
    else
      EXPECT_LT(equal, 5u);
  }
}

TEST(ImageAugmentation, IsTheIdentityOutsideOfTraining) {
  const Tensor x = ramps(2, 5, 6);
  for (const Layer& layer : all_layers())
    if (layer.class_name() != "RandomCrop") {
      EXPECT_EQ(layer(x).to_vector<float>(), x.to_vector<float>()) << layer.class_name();
    }
  const Tensor bytes = Tensor::full({1, 2, 2, 1}, 200.0, DType::uint8);
  EXPECT_EQ(RandomBrightness(0.1)(bytes).dtype(), DType::float32);
  for (const float value : numbers(RandomBrightness({-1.0, -1.0}), bytes)) EXPECT_EQ(value, 0.0f);
}

TEST(ImageAugmentation, OneImageIsABatchOfOne) {
  const Tensor x = ramps(1, 5, 6);
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    const Tensor one = trained(layer, x.with_shape({5, 6, 2}));
    EXPECT_EQ(one.rank(), 3);
    EXPECT_EQ(one.to_vector<float>(), numbers(layer, x));
  }
}

TEST(ImageAugmentation, ChannelsFirstIsTheSameTransposed) {
  const Tensor x = ramps(3, 5, 6);
  const std::vector<Layer> last = all_layers(), first = all_layers("channels_first");
  for (size_t i = 0; i < last.size(); ++i) {
    const Tensor planes = trained(first[i], ops::moveaxis(x, -1, 1));
    EXPECT_EQ(ops::moveaxis(planes, 1, -1).to_vector<float>(), numbers(last[i], x)) << last[i].class_name();
  }
}

struct Range {
  double least = 1e9, most = -1e9, mean = 0.0, squares = 0.0;
  explicit Range(const std::vector<double>& values) {
    for (const double value : values) {
      least = std::min(least, value);
      most = std::max(most, value);
      mean += value / static_cast<double>(values.size());
    }
    for (const double value : values)
      squares += (value - mean) * (value - mean) / static_cast<double>(values.size());
  }
};

/// Uniform in [low, high]: limits nearly reached, mean and variance as they must be.
void expect_uniform(const std::vector<double>& values, double low, double high) {
  const Range r(values);
  const double width = high - low, count = static_cast<double>(values.size());
  EXPECT_GE(r.least, low - 1e-4 * width);
  EXPECT_LE(r.most, high + 1e-4 * width);
  EXPECT_LT(r.least, low + 20 * width / count);
  EXPECT_GT(r.most, high - 20 * width / count);
  EXPECT_NEAR(r.mean, (low + high) / 2, 5 * width / std::sqrt(12 * count));
  EXPECT_NEAR(r.squares, width * width / 12, 5 * width * width * std::sqrt(1.0 / 180 / count));
}

constexpr int64_t kMany = 2000;

TEST(RandomRotationLayer, TurnsByPartsOfAWholeTurn) {
  const std::vector<float> y = numbers(RandomRotation({-0.1, 0.2}, {.seed = 3}), ramps(kMany, 9, 9));
  std::vector<double> turns;
  for (size_t i = 0; i < static_cast<size_t>(kMany); ++i) {
    const float* middle = y.data() + (i * 81 + 40) * 2;  // the middle pixel stays; its neighbours tell
    const double along = static_cast<double>(middle[2] - middle[-2]),
                 down = static_cast<double>(middle[3] - middle[-1]);
    turns.push_back(std::atan2(down, along) / (2 * std::numbers::pi));
  }
  expect_uniform(turns, -0.1, 0.2);
}

TEST(RandomZoomLayer, DrawsHeightAndWidth) {
  const auto zooms = [](const Layer& layer, size_t channel, size_t next) {
    const std::vector<float> y = numbers(layer, ramps(kMany, 9, 9));
    std::vector<double> out;
    for (size_t i = 0; i < static_cast<size_t>(kMany); ++i) {
      const size_t middle = (i * 81 + 40) * 2 + channel;
      out.push_back(static_cast<double>(y[middle + next] - y[middle - next]) / 2);
    }
    return out;
  };
  const Layer both = RandomZoom({-0.5, 0.25}, {.width_factor = 0.3, .seed = 3});
  expect_uniform(zooms(both, 1, 18), 0.5, 1.25);
  expect_uniform(zooms(both, 0, 2), 0.7, 1.3);
  const Layer one = RandomZoom(0.4, {.seed = 3});
  const auto wide = zooms(one, 0, 2), high = zooms(one, 1, 18);
  expect_uniform(high, 0.6, 1.4);
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(wide[i], high[i], 1e-5);
}

TEST(RandomTranslationLayer, DrawsPartsOfHeightAndWidth) {
  const std::vector<float> y = numbers(RandomTranslation(0.2, {0.0, 0.3}, {.seed = 3}), ramps(kMany, 9, 11));
  std::vector<double> down, right;
  for (size_t i = 0; i < static_cast<size_t>(kMany); ++i) {
    const float* middle = y.data() + (i * 99 + 4 * 11 + 5) * 2;
    right.push_back((5.0 - static_cast<double>(middle[0])) / 11.0);
    down.push_back((4.0 - static_cast<double>(middle[1])) / 9.0);
  }
  expect_uniform(down, -0.2, 0.2);
  expect_uniform(right, 0.0, 0.3);
}

TEST(RandomFlipLayer, MirrorsHalfOfTheImages) {
  const auto flipped = [](const std::string& mode) {
    const std::vector<float> y = numbers(RandomFlip(mode, {.seed = 3}), ramps(kMany, 3, 4));
    int along = 0, down = 0, both = 0;
    for (size_t i = 0; i < static_cast<size_t>(kMany); ++i) {
      const bool x_turned = y[i * 24] == 3.0f, y_turned = y[i * 24 + 1] == 2.0f;
      along += x_turned, down += y_turned, both += x_turned && y_turned;
    }
    return std::vector<int>{along, down, both};
  };
  const auto horizontal = flipped("horizontal"), vertical = flipped("vertical"),
             both = flipped("horizontal_and_vertical");
  EXPECT_NEAR(horizontal[0], kMany / 2, 112);
  EXPECT_EQ(horizontal[1], 0);
  EXPECT_EQ(vertical[0], 0);
  EXPECT_NEAR(vertical[1], kMany / 2, 112);
  EXPECT_NEAR(both[2], kMany / 2, 112);
  EXPECT_EQ(both[0], both[2]);  // one draw for both directions, as in Keras
  EXPECT_EQ(both[1], both[2]);
}

TEST(RandomContrastLayer, DrawsBetweenItsLimits) {
  const auto factors = [](const FactorRange& factor) {
    std::vector<float> values;
    for (int64_t i = 0; i < kMany; ++i)
      for (const float value : {10.0f, 100.0f, 12.0f, 104.0f}) values.push_back(value);
    const Tensor x = Tensor::from(values, {kMany, 1, 2, 2});
    const std::vector<float> y = numbers(RandomContrast(factor, {.seed = 3}), x);
    std::vector<double> out;
    for (size_t i = 0; i < y.size(); i += 4) {
      EXPECT_NEAR(y[i] + y[i + 2], 22.0f, 1e-4f);  // the mean of a channel stays
      EXPECT_NEAR((y[i + 3] - y[i + 1]) / (y[i + 2] - y[i]), 2.0f, 1e-2f);
      out.push_back(static_cast<double>(y[i + 3] - y[i + 1]) / 4.0);
    }
    return out;
  };
  expect_uniform(factors({0.3, 0.8}), 0.7, 1.8);
  expect_uniform(factors(0.5), 1.0, 1.5);  // Keras' limits of one number
  const Tensor x = Tensor::from(std::vector<float>{-1, 4}, {1, 1, 2, 1});
  EXPECT_EQ(numbers(RandomContrast({-0.5, 0.5}, {.value_range = {0.0, 2.0}}), x), (std::vector<float>{0, 2}));
}

TEST(RandomBrightnessLayer, DrawsPartsOfTheRange) {
  const Tensor x = Tensor::full({kMany, 1, 1, 1}, 1.0);
  const std::vector<float> y =
      numbers(RandomBrightness({-0.25, 0.5}, {.value_range = {5.0, -3.0}, .seed = 3}), x);
  expect_uniform({y.begin(), y.end()}, 1.0 - 2.0, 1.0 + 4.0);
  const std::vector<float> cut = numbers(RandomBrightness(1.0, {.value_range = {0.0, 2.0}, .seed = 3}), x);
  EXPECT_EQ(*std::min_element(cut.begin(), cut.end()), 0.0f);
  EXPECT_EQ(*std::max_element(cut.begin(), cut.end()), 2.0f);
}

TEST(RandomCropLayer, CutsAtEveryPlace) {
  const RandomCrop layer(3, 5, {.seed = 3});
  std::vector<int> tops(4), lefts(2);
  for (int64_t step = 0; step < 800; ++step) {
    const std::vector<float> y = numbers(layer, ramps(2, 6, 6), {.step = step});
    ASSERT_EQ(y.size(), 60u);
    for (size_t i = 0; i < 15; ++i) {  // exact pixels
      ASSERT_EQ(y[2 * i], y[0] + static_cast<float>(i % 5));
      ASSERT_EQ(y[2 * i + 1], y[1] + static_cast<float>(i / 5));
    }
    ++lefts.at(static_cast<size_t>(y[0]));
    ++tops.at(static_cast<size_t>(y[1]));
  }
  for (const int count : tops) EXPECT_NEAR(count, 200, 62);
  for (const int count : lefts) EXPECT_NEAR(count, 400, 71);
}

TEST(RandomCropLayer, OutsideOfTrainingItTakesTheMiddle) {
  const RandomCrop layer(2, 2);
  EXPECT_EQ(layer(ramps(1, 4, 6)).shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(layer(ramps(1, 2, 4)).to_vector<float>(), (std::vector<float>{1, 0, 2, 0, 1, 1, 2, 1}));
  EXPECT_EQ(layer(ramps(1, 2, 4).with_shape({2, 4, 2})).shape(), (Shape{2, 2, 2}));
  const Sequential model({Input({None, None, 2}), RandomCrop(2, 3), Flatten(), Dense(1)});
  EXPECT_EQ(model.predict(ramps(3, 5, 4), {.verbose = 0}).shape(), (Shape{3, 1}));
}

/// Out of training no layer does anything but a crop, whatever stands in front of it and behind it.
TEST(ImageAugmentation, ChainsOutsideOfTrainingAreTheirCrop) {
  configure_logical_devices("cpu", 2);
  const Tensor x = ramps(3, 6, 8), y = Tensor::zeros({3, 2});
  const Sequential alone({Input({6, 8, 2}), RandomCrop(3, 4), GlobalAveragePooling2D()});
  const std::vector<float> expected = alone.predict(x, {.verbose = 0}).to_vector<float>();
  for (const int devices : {1, 2})
    for (const bool behind : {false, true})
      for (const Layer& layer : all_layers()) {
        if (layer.class_name() == "RandomCrop") continue;
        SCOPED_TRACE(layer.class_name());
        mirrored(devices).scope([&] {
          const Layer first = behind ? Layer(RandomCrop(3, 4)) : layer,
                      second = behind ? layer : RandomCrop(3, 4);
          const Sequential model({Input({6, 8, 2}), first, second, GlobalAveragePooling2D()});
          EXPECT_EQ(model.predict(x, {.verbose = 0}).to_vector<float>(), expected);
          EXPECT_EQ(model(x).to_vector<float>(), expected);
          model.compile({.optimizer = "sgd", .loss = "mse"});
          const double mean = ops::square(Tensor::from(expected, {3, 2})).mean().item();
          EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})["loss"], mean, 1e-5);
        });
      }
  configure_logical_devices("cpu", 1);
}

TEST(ImageAugmentation, TravelsInFiles) {
  const Sequential model({Input({5, 6, 2}), RandomFlip("vertical", {.seed = 4}), RandomRotation({-0.1, 0.3}),
                          RandomZoom(0.2, {.fill_mode = "nearest"}),
                          RandomZoom({0.1, 0.2}, {.width_factor = 0.3, .interpolation = "nearest"}),
                          RandomTranslation(0.1, {-0.1, 0.0}, {.fill_value = 2.0}),
                          RandomContrast(0.3, {.value_range = {0.0, 1.0}}), RandomBrightness({-0.1, 0.2}),
                          RandomCrop(4, 4)});
  const std::string path = testing::TempDir() + "augmentation.keras";
  model.save(path);
  const Model again = load_model(path);
  std::filesystem::remove(path);
  EXPECT_EQ(again.to_json(), model.to_json());
  EXPECT_NE(model.to_json().find("\"height_factor\""), std::string::npos);
  const Tensor x = ramps(2, 5, 6);
  EXPECT_EQ(again.predict(x, {.verbose = 0}).to_vector<float>(),
            model.predict(x, {.verbose = 0}).to_vector<float>());
}

TEST(ImageAugmentation, RefusesWhatDoesNotFit) {
  EXPECT_THROW(RandomFlip("sideways"), InvalidArgumentError);
  EXPECT_THROW(RandomFlip({.data_format = "channels"}), InvalidArgumentError);
  EXPECT_THROW(RandomRotation(1.5), InvalidArgumentError);
  EXPECT_THROW(RandomRotation(std::nan("")), InvalidArgumentError);
  EXPECT_THROW(RandomRotation({.factor = {}}), InvalidArgumentError);
  EXPECT_THROW(RandomRotation(0.1, {.fill_mode = "mirror"}), InvalidArgumentError);
  EXPECT_THROW(RandomRotation(0.1, {.interpolation = "bicubic"}), InvalidArgumentError);
  EXPECT_THROW(RandomZoom(-1.0), InvalidArgumentError);
  EXPECT_THROW(RandomZoom(0.1, {.width_factor = {0.1, 1.1}}), InvalidArgumentError);
  EXPECT_NO_THROW(RandomTranslation(-1.0, 1.0));
  EXPECT_THROW(RandomTranslation(0.1, {}), InvalidArgumentError);
  EXPECT_THROW(RandomTranslation(0.1, FactorRange(std::vector<double>{0.1, 0.2, 0.3})), InvalidArgumentError);
  EXPECT_THROW(RandomContrast(-0.1), InvalidArgumentError);
  EXPECT_THROW(RandomContrast(1.1), InvalidArgumentError);
  EXPECT_THROW(RandomContrast(0.1, {.value_range = 3.0}), InvalidArgumentError);
  EXPECT_THROW(RandomBrightness({1.5, 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandomCrop(0, 3), InvalidArgumentError);
  for (const Layer& layer : all_layers()) {
    EXPECT_THROW(layer(Tensor::zeros({2, 2})), ShapeError) << layer.class_name();
  }
  try {
    RandomFlip("horizontl");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'horizontal'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nyala::image_augmentation_test
