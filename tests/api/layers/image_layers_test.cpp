// What all layers that change images promise, for those that image_augmentation_test.cpp has not: no draw
// depends on how the batch is split, and none is made out of training.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>

namespace nyala::image_layers_test {
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

/// Values of 0 to 1 without an order.
Tensor images(int64_t rows, int64_t height = 6, int64_t width = 7, int64_t channels = 3) {
  return ops::random_uniform({rows, height, width, channels}, 0.0, 1.0, {.key = 5});
}

const FactorRange kUnit = {0.0, 1.0};

std::vector<Layer> all_layers(const std::string& f = {}) {
  return {RandomHue(0.9, {.value_range = kUnit, .data_format = f, .seed = 1}),
          RandomSaturation({0.1, 0.9}, {.value_range = kUnit, .data_format = f, .seed = 1}),
          RandomColorJitter({.value_range = kUnit,
                             .brightness_factor = 0.2,
                             .contrast_factor = 0.5,
                             .saturation_factor = {0.3, 0.7},
                             .hue_factor = 0.3,
                             .seed = 1,
                             .data_format = f}),
          RandomGrayscale(0.5, {.data_format = f, .seed = 1}),
          RandomColorDegeneration({0.1, 0.9}, {.value_range = kUnit, .data_format = f, .seed = 1}),
          RandomInvert({0.4, 0.6}, {.value_range = kUnit, .seed = 1, .data_format = f}),
          RandomPosterization(4, {.value_range = kUnit, .data_format = f, .seed = 1}),
          Solarization({.addition_factor = 0.3,
                        .threshold_factor = {0.2, 0.8},
                        .value_range = kUnit,
                        .seed = 1,
                        .data_format = f}),
          RandomSharpness(0.8, {.value_range = kUnit, .data_format = f, .seed = 1}),
          RandomGaussianBlur({0.4, 0.6}, {.value_range = kUnit, .data_format = f, .seed = 1}),
          RandomErasing({0.8, 1.0}, {.value_range = kUnit, .seed = 1, .data_format = f}),
          RandomErasing({0.8, 1.0}, {.fill_value = {0.5}, .value_range = kUnit, .seed = 1, .data_format = f}),
          RandomShear(0.4, 0.2, {.data_format = f, .seed = 1}),
          RandomPerspective({0.8, 1.0}, {.scale = 0.5, .seed = 1, .data_format = f}),
          RandomElasticTransform({0.8, 1.0}, {.value_range = kUnit, .seed = 1, .data_format = f})};
}

TEST(ImageLayers, PartsOfABatchDrawWhatTheWholeDraws) {
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    const Tensor x = images(7);
    const auto whole = numbers(layer, x);
    auto parts = numbers(layer, x.rows(0, 3));
    EXPECT_TRUE(numbers(layer, x.rows(0, 0), {.first_row = 3}).empty());
    for (const float value : numbers(layer, x.rows(3, 4), {.first_row = 3})) parts.push_back(value);
    EXPECT_EQ(parts, whole);
    EXPECT_EQ(numbers(layer, x), whole);
    EXPECT_NE(numbers(layer, x, {.step = 3}), whole);
    EXPECT_NE(x.to_vector<float>(), whole);
  }
}

TEST(ImageLayers, EachImageIsChangedOnItsOwn) {
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    const Tensor one = images(1);
    const auto y = numbers(layer, ops::concatenate(Tensors(20, one), 0));
    const auto size = static_cast<std::ptrdiff_t>(y.size() / 20);
    int equal = 0;
    for (int row = 1; row < 20; ++row)
      equal += std::equal(y.begin(), y.begin() + size, y.begin() + row * size);
    EXPECT_LT(equal, 19);
  }
}

TEST(ImageLayers, AreTheIdentityOutOfTraining) {
  const Tensor x = images(2);
  for (const Layer& layer : all_layers())
    EXPECT_EQ(layer(x).to_vector<float>(), x.to_vector<float>()) << layer.class_name();
  EXPECT_EQ(Equalization()(x).to_vector<float>(), x.to_vector<float>());
  const Tensor bytes = Tensor::full({1, 2, 2, 3}, 200.0, DType::uint8);
  EXPECT_EQ(RandomHue(0.1)(bytes).dtype(), DType::float32);
}

TEST(ImageLayers, OneImageIsABatchOfOne) {
  const Tensor x = images(1);
  std::vector<Layer> layers = all_layers();
  layers.push_back(AutoContrast({.value_range = kUnit}));
  layers.push_back(Equalization({.value_range = kUnit}));
  layers.push_back(RandAugment({.value_range = kUnit, .seed = 3}));
  layers.push_back(AugMix({.value_range = kUnit, .seed = 3}));
  for (const Layer& layer : layers) {
    SCOPED_TRACE(layer.class_name());
    const Tensor one = trained(layer, x.with_shape(x.shape().without(0)));
    EXPECT_EQ(one.rank(), 3);
    EXPECT_EQ(one.to_vector<float>(), numbers(layer, x));
  }
}

TEST(ImageLayers, ChannelsFirstIsTheSameTransposed) {
  const Tensor x = images(3);
  std::vector<Layer> last = all_layers(), first = all_layers("channels_first");
  last.push_back(AutoContrast({.value_range = kUnit}));
  first.push_back(AutoContrast({.value_range = kUnit, .data_format = "channels_first"}));
  last.push_back(Equalization({.value_range = kUnit}));
  first.push_back(Equalization({.value_range = kUnit, .data_format = "channels_first"}));
  last.push_back(RandAugment({.value_range = kUnit, .seed = 3}));
  first.push_back(RandAugment({.value_range = kUnit, .seed = 3, .data_format = "channels_first"}));
  last.push_back(MixUp({.seed = 3}));
  first.push_back(MixUp({.data_format = "channels_first", .seed = 3}));
  last.push_back(CutMix({.seed = 3}));
  first.push_back(CutMix({.seed = 3, .data_format = "channels_first"}));
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i].class_name() == "RandomErasing" && i % 2 == 0) continue;  // normal numbers lie along the rows
    const Tensor planes = trained(first[i], ops::moveaxis(x, -1, 1));
    EXPECT_EQ(ops::moveaxis(planes, 1, -1).to_vector<float>(), numbers(last[i], x)) << last[i].class_name();
  }
}

TEST(ImageLayers, ComputeIn16Bits) {
  const Tensor x = images(3);
  for (const Layer& layer : all_layers()) {
    const std::string config = layer.get_config();
    const Layer half = Layer::from_config(layer.class_name(), config);
    half.set_dtype_policy(DTypePolicy("mixed_float16"));
    const Tensor y = trained(half, x);
    EXPECT_EQ(y.dtype(), DType::float16) << layer.class_name();
    const auto got = ops::cast(y, DType::float32).to_vector<float>();
    EXPECT_TRUE(std::ranges::all_of(got, [](float value) { return std::isfinite(value); }))
        << layer.class_name();
  }
}

/// The part of 2000 images that a layer changes.
double changed_part(const Layer& layer) {
  const int64_t rows = 2000;
  const Tensor x = ops::concatenate(Tensors(static_cast<size_t>(rows), images(1, 3, 3)), 0);
  const Tensor changes = ops::any(ops::abs(trained(layer, x) - x) > 1e-6, {1, 2, 3});
  return ops::mean(ops::cast(changes, DType::float32)).item();
}

TEST(ImageLayers, ChancesAreThoseOfTheFactor) {
  EXPECT_NEAR(changed_part(RandomGrayscale(0.3, {.seed = 2})), 0.3, 0.06);
  EXPECT_NEAR(changed_part(RandomInvert({0.7, 0.7}, {.value_range = kUnit, .seed = 2})), 0.7, 0.06);
  EXPECT_NEAR(changed_part(RandomInvert(1.0, {.value_range = kUnit, .seed = 2})), 0.5, 0.06);
  EXPECT_NEAR(changed_part(RandomGaussianBlur({0.2, 0.2}, {.sigma = {0.9, 0.9}, .seed = 2})), 0.2, 0.06);
  EXPECT_NEAR(changed_part(RandomPerspective({0.6, 0.6}, {.seed = 2})), 0.6, 0.06);
  EXPECT_EQ(changed_part(RandomErasing(0.0)), 0.0);
  EXPECT_EQ(changed_part(RandomColorJitter({.hue_factor = 0.0})), 0.0);
}

TEST(ImageLayers, ErasesWithWhatItIsTold) {
  const Tensor x = Tensor::full({200, 8, 8, 3}, 0.25);
  const auto y = numbers(
      RandomErasing({1.0, 1.0},
                    {.scale = {0.25, 0.25}, .fill_value = {1, 0.5, 7}, .value_range = kUnit, .seed = 2}),
      x);
  int64_t erased = 0;
  for (size_t i = 0; i < y.size(); i += 3) {
    if (y[i] == 0.25f) continue;
    ++erased;
    ASSERT_EQ(std::vector<float>(y.begin() + static_cast<std::ptrdiff_t>(i),
                                 y.begin() + static_cast<std::ptrdiff_t>(i) + 3),
              (std::vector<float>{1, 0.5, 1}));
  }
  EXPECT_EQ(erased, 200 * 16);  // sides of 4, wherever they begin
}

/// Images of one value each, their row's number, with labels that are 1 at that number.
Tensors numbered(int64_t rows) {
  const Tensor numbers = ops::arange(static_cast<double>(rows));
  const Tensor x =
      ops::broadcast_to(ops::reshape(ops::cast(numbers, DType::float32), {rows, 1, 1, 1}), {rows, 10, 10, 1});
  return {x, ops::one_hot(numbers, rows)};
}

Tensors mixed(const Layer& layer, const Tensors& inputs, int64_t step = 2) {
  layer.node().ensure_built({inputs[0].shape(), inputs[1].shape()});
  Call call({.training = true, .rows = inputs[0].shape()[0], .step = Tensor::scalar(step)});
  return layer(call, Inputs(inputs));
}

TEST(ImageLayers, LabelsAreMixedAsTheImagesAre) {
  const int64_t rows = 12;
  const Tensors inputs = numbered(rows);
  for (const Layer& layer : {Layer(MixUp({.alpha = 2.0, .seed = 1})), Layer(CutMix({.seed = 1}))}) {
    SCOPED_TRACE(layer.class_name());
    const Tensors out = mixed(layer, inputs);
    const std::vector<float> labels = out[1].to_vector<float>(),
                             means = ops::mean(out[0], {1, 2, 3}).to_vector<float>();
    double distance = 0.0;
    for (size_t row = 0; row < 12; ++row) {
      double sum = 0.0, of_images = 0.0;
      for (size_t label = 0; label < 12; ++label) {
        sum += static_cast<double>(labels[row * 12 + label]);
        of_images += static_cast<double>(labels[row * 12 + label]) * static_cast<double>(label);
      }
      EXPECT_NEAR(sum, 1.0, 1e-5);
      // A patch ends between pixels, which are of one image or the other.
      EXPECT_NEAR(means[row], of_images, layer.class_name() == "MixUp" ? 1e-4 : 2.0);
      distance += std::abs(of_images - static_cast<double>(row));
    }
    EXPECT_GT(distance, 3.0);
    EXPECT_NE(mixed(layer, inputs, 3)[1].to_vector<float>(), labels);
  }
}

TEST(ImageLayers, PartnersAreAPermutation) {
  const Tensors inputs = numbered(50);
  const auto y = mixed(CutMix(0.0, {.seed = 4}), inputs)[0].to_vector<float>();
  std::vector<int> seen(50);  // a tiny factor takes whole images, or none
  for (size_t row = 0; row < 50; ++row) {
    const auto value = static_cast<size_t>(y[row * 100]);
    ++seen.at(value);
    EXPECT_EQ(y[row * 100 + 99], y[row * 100]);
  }
  EXPECT_EQ(*std::max_element(seen.begin(), seen.end()), 2);  // its own and one partner at most
}

TEST(ImageLayers, WeightsOfMixUpAreBetaNumbers) {
  const int64_t rows = 4000;
  const Tensors inputs = {Tensor::zeros({rows, 1, 1, 1}), ops::zeros({rows, 2})};
  for (const double alpha : {0.2, 1.0, 3.0}) {
    const MixUp layer({.alpha = alpha, .seed = 5});
    const auto* const node = dynamic_cast<const ImageMixing*>(&layer.node());
    Call call({.training = true, .rows = rows, .step = Tensor::scalar<int64_t>(1)});
    const Tensor log_gammas = node->draws(call, inputs[0]).gamma;
    const Tensors sides = ops::split(log_gammas, 2, 1);
    const Tensor beta = ops::sigmoid(sides[0] - sides[1]);
    EXPECT_NEAR(ops::mean(beta).item(), 0.5, 0.03) << alpha;
    EXPECT_NEAR(ops::var(beta).item(), 0.25 / (2 * alpha + 1), 0.012) << alpha;
    EXPECT_NEAR(ops::mean(ops::exp(log_gammas)).item(), alpha, 0.1 * alpha + 0.02) << alpha;
  }
}

TEST(ImageLayers, MixingRefusesWhatDoesNotFit) {
  EXPECT_THROW(MixUp({.alpha = 0.0}), InvalidArgumentError);
  EXPECT_THROW(CutMix(1.5), InvalidArgumentError);
  EXPECT_THROW(RandAugment({.factor = 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandAugment({.num_ops = -1}), InvalidArgumentError);
  EXPECT_THROW(RandAugment({.interpolation = "area"}), InvalidArgumentError);
  EXPECT_THROW(AugMix({.num_chains = 0}), InvalidArgumentError);
  EXPECT_THROW(AugMix({.alpha = -1.0}), InvalidArgumentError);
  EXPECT_THROW(Pipeline(std::vector<Layer>{}), InvalidArgumentError);
  EXPECT_THROW(MaxNumBoundingBoxes(0), InvalidArgumentError);
  EXPECT_THROW(ContrastLimitedAdaptiveHistogramEqualization({.tile_grid_size = 0}), InvalidArgumentError);
  const Tensor x = images(2);
  EXPECT_THROW(MixUp()({x, Tensor::zeros({2})}), ShapeError);
  EXPECT_THROW(MixUp()({x, Tensor::zeros({2, 3}), x}), InvalidArgumentError);
  EXPECT_THROW(MaxNumBoundingBoxes(3)({Tensor::zeros({2, 1, 4}), Tensor::zeros({2, 1}), x}),
               InvalidArgumentError);
  EXPECT_THROW(MaxNumBoundingBoxes(
                   3, {.bounding_box_format = "xyxy"})({Tensor::zeros({2, 1, 3}), Tensor::zeros({2, 1}), x}),
               ShapeError);
}

TEST(ImageLayers, BoundingBoxesAreCutAndFilled) {
  const MaxNumBoundingBoxes layer(2, {.fill_value = -7, .bounding_box_format = "xyxy"});
  const Tensor x = images(1);
  const auto of = [&](int64_t count) {
    return layer.call_all({Tensor::ones({1, count, 4}), Tensor::ones({1, count}), x});
  };
  EXPECT_EQ(of(1)[1].to_vector<float>(), (std::vector<float>{1, -7}));
  EXPECT_EQ(of(3)[1].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(of(3)[0].shape(), (Shape{1, 2, 4}));
  EXPECT_EQ(of(0)[0].to_vector<float>(), std::vector<float>(8, -7.0f));
}

TEST(ImageLayers, APipelineIsItsLayersOneBehindTheOther) {
  const Tensor x = images(3);
  const RandomShear shear(0.3, 0.2, {.seed = 2});
  const Dense dense(2);
  const Pipeline pipeline({shear, dense});
  const Tensor y = trained(pipeline, x);
  EXPECT_EQ(y.to_vector<float>(), dense(trained(shear, x)).to_vector<float>());
  EXPECT_EQ(pipeline.weights().size(), 2u);
  const Sequential model({Input({6, 7, 3}), pipeline});
  const std::string path = testing::TempDir() + "pipeline.keras";
  model.save(path);
  EXPECT_EQ(load_model(path).predict(x, {.verbose = 0}).to_vector<float>(),
            model.predict(x, {.verbose = 0}).to_vector<float>());
  std::filesystem::remove(path);
  const Pipeline pairs({MixUp({.seed = 2}), CutMix({.seed = 2})});
  EXPECT_EQ(mixed(pairs, numbered(4)).size(), 2u);
}

TEST(ImageLayers, AutoContrastActsAlways) {
  const Tensor x = Tensor::from(std::vector<float>{2, 5, 4, 5, 3, 5}, {1, 1, 3, 2});
  const std::vector<float> expected{0, 5, 255, 5, 127.5, 5};
  EXPECT_EQ(AutoContrast()(x).to_vector<float>(), expected);
  EXPECT_EQ(numbers(AutoContrast(), x), expected);
  EXPECT_EQ(AutoContrast()(x.with_shape({1, 3, 2})).to_vector<float>(), expected);
}

TEST(ImageLayers, TravelInFiles) {
  const Tensor x = images(2);
  for (const Layer& layer : all_layers()) {
    const Sequential model({Input({6, 7, 3}), layer});
    const Model again = model_from_json(model.to_json());
    EXPECT_EQ(again.to_json(), model.to_json());
    const Layer same = Layer::from_config(layer.class_name(), layer.get_config());
    EXPECT_EQ(same.get_config(), layer.get_config());
    EXPECT_EQ(numbers(same, x), numbers(layer, x)) << layer.class_name();
  }
}

TEST(ImageLayers, RefuseArgumentsOutsideOfTheirLimits) {
  EXPECT_THROW(RandomHue(-0.1), InvalidArgumentError);
  EXPECT_THROW(RandomHue({.factor = {}}), InvalidArgumentError);
  EXPECT_THROW(RandomHue(0.1, {.value_range = 3.0}), InvalidArgumentError);
  EXPECT_NO_THROW(RandomSaturation(-1.0));
  EXPECT_THROW(RandomSaturation(1.1), InvalidArgumentError);
  EXPECT_THROW(RandomColorJitter({.brightness_factor = 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandomGrayscale(1.5), InvalidArgumentError);
  EXPECT_THROW(RandomGrayscale(std::nan("")), InvalidArgumentError);
  EXPECT_THROW(RandomColorDegeneration({1.5, 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandomInvert(-0.5), InvalidArgumentError);
  EXPECT_THROW(RandomPosterization(0), InvalidArgumentError);
  EXPECT_THROW(RandomPosterization(9), InvalidArgumentError);
  EXPECT_THROW(Solarization({.addition_factor = 1.5}), InvalidArgumentError);
  EXPECT_THROW(Solarization({.threshold_factor = {-0.5, 0.5}}), InvalidArgumentError);
  EXPECT_THROW(AutoContrast({.value_range = 1.0}), InvalidArgumentError);
  EXPECT_THROW(Equalization({.bins = 0}), InvalidArgumentError);
  EXPECT_THROW(RandomSharpness(-0.1), InvalidArgumentError);
  EXPECT_THROW(RandomGaussianBlur({.kernel_size = 4}), InvalidArgumentError);
  EXPECT_THROW(RandomGaussianBlur({.kernel_size = -3}), InvalidArgumentError);
  EXPECT_THROW(RandomGaussianBlur({.sigma = 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandomErasing({.scale = 1.5}), InvalidArgumentError);
  EXPECT_THROW(RandomErasing({.fill_value = {1.0, 2.0}}), InvalidArgumentError);
  EXPECT_THROW(RandomShear(-0.5, 0.0), InvalidArgumentError);
  EXPECT_THROW(RandomShear(0.5, 0.0, {.fill_mode = "mirror"}), InvalidArgumentError);
  EXPECT_NO_THROW(RandomShear({-0.5, 0.5}, 0.0));
  EXPECT_THROW(RandomElasticTransform({.scale = 2.0}), InvalidArgumentError);
  EXPECT_THROW(RandomElasticTransform({.fill_mode = "mirror"}), InvalidArgumentError);
  EXPECT_THROW(RandomPerspective({.scale = -0.5}), InvalidArgumentError);
  EXPECT_THROW(RandomPerspective({.interpolation = "bicubic"}), InvalidArgumentError);
}

TEST(ImageLayers, RefuseImagesThatHaveNoColours) {
  for (const Layer& layer : all_layers())
    EXPECT_THROW(layer(Tensor::zeros({2, 2})), ShapeError) << layer.class_name();
  const Tensor two = Tensor::zeros({1, 4, 4, 2});
  EXPECT_THROW(RandomHue(0.1)(two), ShapeError);
  EXPECT_THROW(RandomSaturation(0.1)(two), ShapeError);
  EXPECT_THROW(RandomColorJitter({.hue_factor = 0.1})(two), ShapeError);
  EXPECT_THROW(RandomGrayscale()(two), ShapeError);
  EXPECT_THROW(RandomColorDegeneration(0.1)(two), ShapeError);
  EXPECT_THROW(RandomErasing({.fill_value = {1, 2, 3}})(two), ShapeError);
  EXPECT_THROW(RandomHue(0.1, {.data_format = "channels_first"})(two), ShapeError);
}

}  // namespace
}  // namespace nyala::image_layers_test
