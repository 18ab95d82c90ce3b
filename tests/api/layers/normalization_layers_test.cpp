#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>

namespace nyala::normalization_layers_test {
namespace {

Tensor numbers(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(1.7 * double(i)) * 3.0);
  return Tensor::from(values, shape);
}

std::vector<float> value_of(const Variable& variable) { return variable.value().to_vector<float>(); }

TEST(LayerNormalizationLayer, WeightsHaveTheShapeOfTheAxes) {
  const LayerNormalization layer({.axis = {3, 1}});
  layer.node().ensure_built({Shape({None, 4, 5, 6})});
  ASSERT_EQ(layer.weights().size(), 2u);
  EXPECT_EQ(layer.weights()[0].name(), "gamma");
  EXPECT_EQ(layer.weights()[0].shape(), (Shape{4, 6}));
  const RMSNormalization rms(-1);
  rms.node().ensure_built({Shape({None, 4})});
  ASSERT_EQ(rms.weights().size(), 1u);
  EXPECT_EQ(rms.weights()[0].name(), "scale");
}

TEST(LayerNormalizationLayer, AnyAxisIsAsIfItWereTheLast) {
  const Tensor x = numbers({2, 3, 4});
  const std::vector<float> y = LayerNormalization(1)(x).to_vector<float>();
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t c = 0; c < 4; ++c) {
      double mean = 0.0, squares = 0.0;
      for (int64_t i = 0; i < 3; ++i) mean += double(x.data<float>()[size_t(row * 12 + i * 4 + c)]) / 3;
      for (int64_t i = 0; i < 3; ++i) {
        const double d = double(x.data<float>()[size_t(row * 12 + i * 4 + c)]) - mean;
        squares += d * d / 3;
      }
      for (int64_t i = 0; i < 3; ++i) {
        const size_t at = size_t(row * 12 + i * 4 + c);
        EXPECT_NEAR(double(y[at]), (double(x.data<float>()[at]) - mean) / std::sqrt(squares + 1e-3), 1e-5);
      }
    }
}

TEST(LayerNormalizationLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(LayerNormalization({.axis = Axes(std::vector<int>{})}), InvalidArgumentError);
  EXPECT_THROW(LayerNormalization({.epsilon = -1.0}), InvalidArgumentError);
  EXPECT_THROW(LayerNormalization(2)(numbers({2, 3})), ShapeError);
  EXPECT_THROW(LayerNormalization({.axis = {1, -1}})(numbers({2, 3})), ShapeError);
  EXPECT_THROW(LayerNormalization().node().ensure_built({Shape({None, None})}), ShapeError);
  EXPECT_THROW(RMSNormalization({.axis = {0, 3}})(numbers({2, 3})), ShapeError);
  EXPECT_THROW(UnitNormalization(3)(numbers({2, 3})), ShapeError);
  EXPECT_EQ(LayerNormalization()(Tensor::zeros({0, 3})).shape(), (Shape{0, 3}));
}

TEST(UnitNormalizationLayer, ZerosStayZeroWithAGradient) {
  const UnitNormalization layer;
  layer.node().ensure_built({Shape{2, 2}});
  Tape tape;
  const Tensor x = tape.watch(Tensor::from(std::vector<float>{0, 0, 3, 4}, {2, 2}), 0);
  Call call({.tape = &tape, .replica = nullptr, .step = {}});
  const std::vector<float> y = layer(call, x).to_vector<float>();
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_FLOAT_EQ(y[2], 0.6f);
}

TEST(GroupNormalizationLayer, EachGroupHasMeanZeroAndVarianceOne) {
  const GroupNormalization layer(2, {.epsilon = 0.0});
  const std::vector<float> y = layer(numbers({2, 5, 4})).to_vector<float>();
  for (size_t row = 0; row < 2; ++row)
    for (size_t group = 0; group < 2; ++group) {
      double sum = 0.0, squares = 0.0;
      for (size_t place = 0; place < 5; ++place)
        for (size_t c = 2 * group; c < 2 * group + 2; ++c) {
          const double v = static_cast<double>(y[row * 20 + place * 4 + c]);
          sum += v / 10;
          squares += v * v / 10;
        }
      EXPECT_NEAR(sum, 0.0, 1e-5);
      EXPECT_NEAR(squares, 1.0, 1e-5);
    }
}

TEST(GroupNormalizationLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(GroupNormalization(0), InvalidArgumentError);
  EXPECT_THROW(GroupNormalization(-2), InvalidArgumentError);
  EXPECT_THROW(GroupNormalization(3)(numbers({2, 5, 4})), ShapeError);
  EXPECT_THROW(GroupNormalization()(numbers({2, 5, 4})), ShapeError);
  EXPECT_THROW(GroupNormalization(2, {.axis = 0})(numbers({2, 4})), ShapeError);
  EXPECT_EQ(GroupNormalization(2)(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 3, 4}));
}

TEST(NormalizationLayer, AdaptsToAnArray) {
  const Normalization layer;
  layer.adapt(Tensor::from(std::vector<float>{1, 10, 3, 20, 8, 60}, {3, 2}));
  ASSERT_EQ(layer.weights().size(), 3u);
  EXPECT_EQ(value_of(layer.weights()[0]), (std::vector<float>{4, 30}));
  EXPECT_FLOAT_EQ(value_of(layer.weights()[1])[0], 26.0f / 3);
  EXPECT_FLOAT_EQ(value_of(layer.weights()[1])[1], 1400.0f / 3);
  EXPECT_EQ(layer.weights()[2].dtype(), DType::int64);
  EXPECT_TRUE(layer.trainable_weights().empty());
  const std::vector<float> y = layer(Tensor::from(std::vector<float>{4, 60}, {1, 2})).to_vector<float>();
  EXPECT_FLOAT_EQ(y[0], 0.0f);
  EXPECT_FLOAT_EQ(y[1], static_cast<float>(30 / std::sqrt(1400.0 / 3)));
}

TEST(NormalizationLayer, ADatasetOfBatchesGivesWhatTheArrayGives) {
  const Tensor x = numbers({37, 3});
  const Normalization whole, parts;
  whole.adapt(x);
  parts.adapt(Dataset::from_tensor_slices(x).batch(5));
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < 3; ++k)
      EXPECT_FLOAT_EQ(value_of(parts.weights()[i])[k], value_of(whole.weights()[i])[k]);
}

TEST(NormalizationLayer, InvertGoesBack) {
  const Tensor x = numbers({4, 3});
  const std::vector<double> mean = {1, 2, 3}, variance = {4, 0.25, 0};
  const Tensor there = Normalization({.mean = mean, .variance = variance})(x);
  const Tensor back = Normalization({.mean = mean, .variance = variance, .invert = true})(there);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(back.data<float>()[i], x.data<float>()[i], 1e-5);
}

TEST(NormalizationLayer, OneStatisticForAll) {
  const Normalization layer({.axis = Axes(std::vector<int>{})});
  layer.adapt(Tensor::from(std::vector<float>{1, 3, 5, 7}, {2, 2}));
  EXPECT_EQ(value_of(layer.weights()[0]), (std::vector<float>{4}));
  EXPECT_EQ(layer.weights()[0].shape(), Shape{});
  EXPECT_FLOAT_EQ(value_of(layer.weights()[1])[0], 5.0f);
}

TEST(NormalizationLayer, WholeNumbersBecomeFloats) {
  const Normalization layer({.mean = {2.0}, .variance = {4.0}});
  const Tensor y = layer(Tensor::from(std::vector<uint8_t>{2, 6}, {1, 2}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 2}));
}

TEST(NormalizationLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Normalization({.mean = {1.0}}), InvalidArgumentError);
  EXPECT_THROW(Normalization({.mean = {1.0, 2.0}, .variance = {1.0}}), InvalidArgumentError);
  EXPECT_THROW(Normalization({.axis = Axes(std::vector<int>{}), .mean = {1, 2}, .variance = {1, 2}}),
               InvalidArgumentError);
  EXPECT_THROW(Normalization({.mean = {1, 2}, .variance = {1, 2}})(numbers({2, 3})), ShapeError);
  EXPECT_THROW(Normalization({.mean = {1}, .variance = {1}}).adapt(numbers({2, 3})), StateError);
  EXPECT_THROW(Normalization().adapt(Tensor::zeros({0, 3})), InvalidArgumentError);
  EXPECT_THROW(Normalization().adapt(Dataset::from_tensor_slices(Tensor::zeros({0, 3})).batch(2)),
               InvalidArgumentError);
  const Normalization layer;
  layer.adapt(numbers({4, 3}));
  EXPECT_THROW(layer.adapt(numbers({4, 2})), ShapeError);
}

TEST(NormalizationLayer, StatisticsAlongSeveralAxes) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const std::vector<double> ones = {1, 1, 1, 1};
  const auto less = [&](const NormalizationConfig& config) {
    return Normalization(config)(x).to_vector<float>();
  };
  EXPECT_EQ(less({.axis = {1, 2}, .mean = {1, 2, 3, 4}, .variance = ones}),
            (std::vector<float>{0, 0, 0, 0, 4, 4, 4, 4}));
  EXPECT_EQ(less({.axis = {1, 2}, .mean = {1, 2}, .variance = {1, 1}}),  // along the last one
            (std::vector<float>{0, 0, 2, 2, 4, 4, 6, 6}));
  EXPECT_EQ(less({.axis = {1, 2}, .mean = {1, 2}, .variance = {1, 1}, .statistics_shape = {2, 1}}),
            (std::vector<float>{0, 1, 1, 2, 4, 5, 5, 6}));
  EXPECT_EQ(less({.axis = {0, 2}, .mean = {1, 2, 5, 6}, .variance = ones}),
            (std::vector<float>{0, 0, 2, 2, 0, 0, 2, 2}));
  EXPECT_THROW(less({.axis = {1, 2}, .mean = {1, 2, 3}, .variance = {1, 1, 1}}), ShapeError);
  EXPECT_THROW(less({.axis = {1, 2}, .mean = {1, 2, 3}, .variance = {1, 1, 1}, .statistics_shape = {3, 1}}),
               ShapeError);
  EXPECT_THROW(Normalization({.axis = {1}, .mean = {1, 2}, .variance = {1, 1}, .statistics_shape = {2, 1}}),
               InvalidArgumentError);
  EXPECT_THROW(Normalization({.axis = {1, 2}, .mean = {1, 2}, .variance = {1, 1}, .statistics_shape = {3}}),
               InvalidArgumentError);
}

TEST(NormalizationLayer, TravelsInAFile) {
  const Normalization adapted;
  adapted.adapt(numbers({9, 3}));
  const Sequential model({Input({3}), adapted, Normalization({.mean = {1, 2, 3}, .variance = {4, 5, 6}}),
                          Normalization({.axis = Axes(std::vector<int>{}), .mean = {1}, .variance = {4}})});
  const std::string path = testing::TempDir() + "normalization.keras";
  model.save(path);
  const Model again = load_model(path);
  std::filesystem::remove(path);
  const Tensor x = numbers({5, 3});
  EXPECT_EQ(again.predict(x, {.verbose = 0}).to_vector<float>(),
            model.predict(x, {.verbose = 0}).to_vector<float>());
}

}  // namespace
}  // namespace nyala::normalization_layers_test
