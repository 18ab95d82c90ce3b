#include <string>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/tests/conformance/layers/run_layer_test.h>

namespace nyala::layers_test {

using namespace nyala::detail;
namespace {

/// A maker of layers of class L: its Config, with the dtype filled in.
template <class L>
std::function<Layer(const std::string&)> maker(typename L::Config config) {
  return [config](const std::string& dtype) mutable {
    config.dtype = dtype;
    return L(config);
  };
}

template <class L>
void run(const typename L::Config& config, const Shapes& inputs) {
  run_layer_test({.make = maker<L>(config), .inputs = inputs});
  run_layer_test({.make = maker<L>(config), .inputs = inputs, .training = false});
}

TEST(LayerConformance, Dense) {
  run<Dense>({.units = 3}, {{4, 5}});
  run<Dense>({.units = 2, .activation = "tanh", .use_bias = false}, {{2, 3, 4}});
  run<Dense>({.units = 4, .activation = "softmax"}, {{3, 5}});
  run<Dense>({.units = 1, .activation = "sigmoid", .kernel_initializer = "he_normal"}, {{1, 1}});
}

TEST(LayerConformance, Conv2D) {
  run<Conv2D>({.filters = 3, .kernel_size = 3}, {{2, 5, 4, 2}});
  run<Conv2D>(
      {.filters = 2, .kernel_size = {2, 3}, .strides = {2, 1}, .padding = "same", .activation = "sigmoid"},
      {{2, 5, 4, 3}});
  run<Conv2D>({.filters = 4, .kernel_size = 3, .padding = "same", .groups = 2, .use_bias = false},
              {{1, 4, 4, 4}});
  run<Conv2D>({.filters = 2, .kernel_size = 2, .dilation_rate = 2, .activation = "gelu"}, {{1, 5, 5, 1}});
}

TEST(LayerConformance, Images) {
  const FactorRange values = {-3.0, 3.0};
  const Shapes x = {{2, 4, 5, 3}};
  run<RandomHue>({.factor = 0.4, .value_range = values, .seed = 1}, x);
  run<RandomSaturation>({.factor = {0.2, 0.4}, .value_range = values, .seed = 1}, x);
  run<RandomColorJitter>({.value_range = values, .brightness_factor = 0.1, .contrast_factor = 0.2, .seed = 1},
                         x);
  run<RandomGrayscale>({.factor = 0.5, .seed = 1}, x);
  run<RandomColorDegeneration>({.factor = 0.5, .value_range = values, .seed = 1}, x);
  run<RandomInvert>({.factor = {0.5, 0.5}, .value_range = values, .seed = 1}, x);
  run<Solarization>({.addition_factor = 0.1, .threshold_factor = 0.5, .value_range = values, .seed = 1}, x);
  run<AutoContrast>({.value_range = {-2.0, 2.0}}, x);
  run<RandomSharpness>({.factor = 0.7, .value_range = values, .seed = 1}, x);
  run<RandomGaussianBlur>({.factor = {0.5, 0.5}, .value_range = values, .seed = 1}, x);
  run<RandomErasing>({.factor = {0.5, 0.5}, .value_range = values, .seed = 1}, x);
  run<RandomShear>({.x_factor = 0.3, .y_factor = 0.2, .seed = 1}, x);
  run<RandomPerspective>({.factor = {0.5, 0.5}, .scale = 0.6, .seed = 1}, x);
  run<RandomElasticTransform>({.factor = {0.5, 0.5}, .value_range = values, .seed = 1}, x);
  run<MixUp>({.seed = 1}, x);
  run<CutMix>({.seed = 1}, x);
  run<MaxNumBoundingBoxes>({.max_number = 2}, x);
  const auto pipeline = [](const std::string& dtype) {
    return Pipeline({RandomShear(0.3, 0.2, {.seed = 1, .dtype = dtype}), Dense(2, {.dtype = dtype})},
                    {.dtype = dtype});
  };
  run_layer_test({.make = pipeline, .inputs = x});
  run_layer_test({.make = maker<RandAugment>({.value_range = values}), .inputs = x, .training = false});
  run_layer_test({.make = maker<AugMix>({.value_range = values}), .inputs = x, .training = false});
  run_layer_test({.make = maker<RandomPosterization>({.factor = 3, .value_range = values}),
                  .inputs = x,
                  .training = false});
  run_layer_test({.make = maker<Equalization>({.value_range = values}), .inputs = x, .training = false});
}

TEST(LayerConformance, Pooling2D) {
  run<MaxPooling2D>({}, {{2, 5, 4, 3}});
  run<MaxPooling2D>({.pool_size = 3, .strides = 2, .padding = "same"}, {{2, 5, 4, 2}});
  run<AveragePooling2D>({.pool_size = 2}, {{2, 4, 5, 3}});
  run<AveragePooling2D>({.pool_size = {3, 2}, .strides = 2, .padding = "same"}, {{2, 5, 4, 2}});
}

TEST(LayerConformance, GlobalPooling2D) {
  run<GlobalMaxPooling2D>({}, {{2, 3, 4, 3}});
  run<GlobalMaxPooling2D>({.keepdims = true}, {{2, 3, 4, 3}});
  run<GlobalAveragePooling2D>({}, {{2, 3, 4, 3}});
  run<GlobalAveragePooling2D>({.keepdims = true}, {{2, 3, 4, 3}});
}

TEST(LayerConformance, BatchNormalization) {
  run<BatchNormalization>({}, {{6, 3}});
  run<BatchNormalization>({.momentum = 0.5, .scale = false}, {{2, 3, 3, 2}});
  run<BatchNormalization>({.axis = 1, .center = false}, {{3, 2, 4}});
}

TEST(LayerConformance, LayerScale) {
  run<LayerScale>({.init_values = 0.5, .projection_dim = 3}, {{2, 3}});
  run<LayerScale>({.init_values = 0.5, .projection_dim = 2}, {{2, 4, 2}});
}

TEST(LayerConformance, Dropout) {
  run<Dropout>({.rate = 0.4, .seed = 1}, {{4, 5}});
  run<Dropout>({.rate = 0.4, .noise_shape = {None, 1, 3}, .seed = 2}, {{3, 4, 3}});
}

TEST(LayerConformance, Elementwise) {
  run<Activation>({.activation = "relu"}, {{3, 4}});
  run<Activation>({.activation = "silu"}, {{3, 2, 2}});
  run<ReLU>({}, {{3, 4}});
  run<ReLU>({.max_value = 1.1, .negative_slope = 0.1, .threshold = 0.2}, {{4, 5}});
  run<Softmax>({}, {{3, 4}});
  run<Softmax>({.axis = {1, 2}}, {{2, 3, 4}});
  run<Rescaling>({.scale = 0.5, .offset = -1}, {{2, 3}});
}

TEST(LayerConformance, Shapes) {
  run<Flatten>({}, {{2, 3, 2}});
  run<Reshape>({.target_shape = {4, 3}}, {{2, 12}});
  run<Reshape>({.target_shape = {-1, 2}}, {{2, 3, 4}});
  run<ZeroPadding2D>({}, {{2, 2, 3, 2}});
  run<ZeroPadding2D>({.padding = {{1, 2}, {0, 3}}}, {{1, 2, 3, 2}});
}

TEST(LayerConformance, Merging) {
  run<Add>({}, {{2, 3}, {2, 3}, {2, 3}});
  run<Add>({}, {{2, 4, 3}, {2, 1, 3}});
  run<Add>({}, {{2, 4, 3}, {2, 3}});
  run<Concatenate>({}, {{2, 3}, {2, 1}});
  run<Concatenate>({.axis = 1}, {{2, 3, 2}, {2, 1, 2}, {2, 2, 2}});
}

/// 2x + x, of which the second x hides from the tape.
class WrongGradient final : public LayerNode {
 public:
  std::string class_name() const override { return "WrongGradient"; }
  Tensor call(Call&, const Tensor& x) const override { return x * 2.0 + x.detached(); }
};

/// Says one rank while it is traced and another when it computes.
class WrongShape final : public LayerNode {
 public:
  std::string class_name() const override { return "WrongShape"; }
  Tensor call(Call&, const Tensor& x) const override { return x.is_abstract() ? x : ops::flatten(x); }
};

template <class Node>
Layer wrong_layer(const std::string& dtype) {
  return Layer(finish_layer(std::make_shared<Node>(), {.name = {}, .trainable = true, .dtype = dtype}));
}

TEST(LayerConformance, FindsAWrongGradient) {
  EXPECT_NONFATAL_FAILURE(run_layer_test({.make = wrong_layer<WrongGradient>, .inputs = {{1, 1}}}),
                          "input 0 0");
}

TEST(LayerConformance, FindsAWrongShape) {
  EXPECT_FATAL_FAILURE(run_layer_test({.make = wrong_layer<WrongShape>, .inputs = {{1, 2, 2}}}),
                       "traced.rank()");
}

}  // namespace
}  // namespace nyala::layers_test
