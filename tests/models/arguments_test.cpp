// What architectures refuse, and how their arguments change them. Keras' rules, with typed errors.
#include <gtest/gtest.h>

#include <nyala/api/layers/preprocessing/rescaling.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/models/all.h>
#include <nyala/tests/models/shape_only_variables.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using namespace applications;

class ApplicationArguments : public testing::Test {
 protected:
  void SetUp() override { clear_session(); }
  ShapeOnlyVariables no_memory_;
};

TEST_F(ApplicationArguments, ImagesThatAreTooSmall) {
  expect_error<ShapeError>(
      [] {
        ResNet50({.input_shape = {31, 64, 3}, .weights = "none"});
      },
      {"ResNet50", "32x32", "(31, 64, 3)"});
  expect_error<ShapeError>([] { Xception({.input_shape = {71, 70, 3}, .weights = "none"}); }, {"71x71"});
  expect_error<ShapeError>([] { InceptionV3({.input_shape = {74, 75, 3}, .weights = "none"}); }, {"75x75"});
  EXPECT_NO_THROW(InceptionV3({.input_shape = {75, 75, 3}, .include_top = false, .weights = "none"}));
}

TEST_F(ApplicationArguments, ShapesThatAreNone) {
  expect_error<ShapeError>(
      [] {
        ResNet50({.input_shape = {64, 64}, .weights = "none"});
      },
      {"(height, width, channels)"});
  expect_error<ShapeError>(
      [] {
        ResNet50({.input_shape = {None, 64, 3}, .weights = "none"});
      },
      {"include_top"});
  EXPECT_NO_THROW(ResNet50({.input_shape = {None, None, 3}, .include_top = false, .weights = "none"}));
  EXPECT_EQ(VGG16({.input_shape = {32, 32, 1}, .include_top = false, .weights = "none"}).weights()[0].shape(),
            (Shape{3, 3, 1, 64}));
}

TEST_F(ApplicationArguments, OptionsOfOtherArchitectures) {
  expect_error<InvalidArgumentError>([] { ResNet50({.alpha = 0.5, .weights = "none"}); },
                                     {"ResNet50", "'alpha'"});
  expect_error<InvalidArgumentError>([] { MobileNetV2({.depth_multiplier = 2, .weights = "none"}); },
                                     {"'depth_multiplier'"});
  expect_error<InvalidArgumentError>([] { VGG16({.minimalistic = true, .weights = "none"}); },
                                     {"'minimalistic'"});
  expect_error<InvalidArgumentError>([] { Xception({.dropout = 0.1, .weights = "none"}); }, {"'dropout'"});
  expect_error<InvalidArgumentError>([] { Xception({.include_preprocessing = false, .weights = "none"}); },
                                     {"'include_preprocessing'"});
}

TEST_F(ApplicationArguments, WordsThatAreUnknown) {
  expect_error<InvalidArgumentError>([] { ResNet50({.weights = "none", .pooling = "mean"}); },
                                     {"'avg'", "'max'", "'mean'"});
  expect_error<NotFoundError>([] { ResNet50({.weights = "imagnet"}); },
                              {"'imagnet'", "did you mean 'imagenet'"});
  expect_error<NotFoundError>([] { find_application("MobilNetV2"); }, {"did you mean 'MobileNetV2'"});
  EXPECT_EQ(find_application("mobilenetv2").name, "MobileNetV2");
}

TEST_F(ApplicationArguments, WhatPublishedWeightsAreFor) {
  expect_error<InvalidArgumentError>([] { ResNet50({.classes = 10}); }, {"1000 classes", "10"});
  expect_error<InvalidArgumentError>([] { ResNet50({.classifier_activation = "sigmoid"}); },
                                     {"'softmax'", "'sigmoid'"});
  expect_error<ShapeError>([] { ResNet50({.input_shape = {128, 128, 3}}); }, {"(224, 224, 3)"});
  expect_error<ShapeError>(
      [] {
        ResNet50({.input_shape = {224, 224, 1}, .include_top = false});
      },
      {"3 channels"});
  expect_error<InvalidArgumentError>([] { MobileNet({.alpha = 0.3}); }, {"alpha", "0.3"});
  expect_error<InvalidArgumentError>([] { MobileNetV2({.alpha = 1e18, .weights = "none"}); },
                                     {"alpha", "1e+18"});
  expect_error<InvalidArgumentError>([] { MobileNet({.depth_multiplier = 2}); }, {"depth_multiplier"});
  expect_error<InvalidArgumentError>([] { MobileNetV2({.alpha = 0.25}); }, {"alpha", "0.25"});
  expect_error<InvalidArgumentError>([] { MobileNetV3Small({.alpha = 0.75, .minimalistic = true}); },
                                     {"MobileNetV3Small", "0.75"});
  expect_error<ShapeError>(
      [] {
        NASNetLarge({.input_shape = {None, None, 3}, .include_top = false});
      },
      {"NASNetLarge", "None"});
}

TEST_F(ApplicationArguments, Names) {
  EXPECT_EQ(MobileNet({.weights = "none"}).name(), "mobilenet_1.00_224");
  EXPECT_EQ(MobileNet({.input_shape = {128, 128, 3}, .alpha = 0.25, .weights = "none"}).name(),
            "mobilenet_0.25_128");
  EXPECT_EQ(MobileNetV2({.alpha = 0.35, .include_top = false, .weights = "none"}).name(),
            "mobilenetv2_0.35_None");
  EXPECT_EQ(MobileNetV2({.weights = "none", .name = "mine"}).name(), "mine");
  EXPECT_EQ(ConvNeXtTiny({.weights = "none", .name = "mine"}).get_layer(2).name(), "mine_stem");
}

TEST_F(ApplicationArguments, TopAndPooling) {
  const auto last_shape = [](const ApplicationConfig& config) {
    return ResNet50(config).layers().back().node().output_shapes().at(0);
  };
  EXPECT_EQ(last_shape({.input_shape = {64, 64, 3}, .include_top = false, .weights = "none"}),
            (Shape{None, 2, 2, 2048}));
  EXPECT_EQ(last_shape({.include_top = false, .weights = "none", .pooling = "avg"}), (Shape{None, 2048}));
  EXPECT_EQ(last_shape({.include_top = false, .weights = "none", .pooling = "max"}), (Shape{None, 2048}));
  EXPECT_EQ(last_shape({.weights = "none", .pooling = "max", .classes = 7}), (Shape{None, 7}))
      << "a top does not pool";
  EXPECT_EQ(DenseNet121({.include_top = false, .weights = "none", .pooling = "max"}).layers().back().name(),
            "max_pool");
}

TEST_F(ApplicationArguments, PaddingFollowsTheSizeOfTheImage) {
  const auto padding = [](const Shape& shape) {
    const Model model = MobileNetV2({.input_shape = shape, .include_top = false, .weights = "none"});
    return model.get_layer("block_1_pad").node().output_shapes().at(0);
  };
  EXPECT_EQ(padding({96, 96, 3}), (Shape{None, 49, 49, 96})) << "even: behind alone";
  EXPECT_EQ(padding({97, 96, 3}), (Shape{None, 51, 49, 96})) << "odd: on both sides";
}

TEST_F(ApplicationArguments, AnInputTensor) {
  const Input image({96, 96, 3}, {.name = "photo"});
  const Tensor scaled = Rescaling(1 / 127.5, {.name = "scale"})(image.tensor());
  const Model model = MobileNetV2({.include_top = false, .weights = "none", .input_tensor = scaled});
  EXPECT_EQ(model.layers().at(0).name(), "photo");
  EXPECT_EQ(model.layers().at(1).name(), "scale");
  EXPECT_EQ(model.layers().back().node().output_shapes().at(0), (Shape{None, 3, 3, 1280}));
  EXPECT_EQ(model.name(), "mobilenetv2_1.00_96");
  expect_error<ShapeError>(
      [&] {
        MobileNetV2({.input_shape = {96, 128, 3}, .weights = "none", .input_tensor = scaled});
      },
      {"(96, 128, 3)", "(96, 96, 3)"});
  expect_error<InvalidArgumentError>(
      [&] {
        MobileNetV2({.weights = "none", .input_tensor = Tensor::zeros({1, 96, 96, 3})});
      },
      {"symbolic"});
}

TEST_F(ApplicationArguments, OptionsOfTheMobileNets) {
  EXPECT_EQ(MobileNet({.depth_multiplier = 2, .weights = "none"}).get_layer("conv_dw_1").weights()[0].shape(),
            (Shape{3, 3, 32, 2}));
  const Model minimalistic = MobileNetV3Large({.minimalistic = true, .dropout = 0.0, .weights = "none"});
  for (const Layer& layer : minimalistic.layers()) {
    EXPECT_NE(layer.class_name(), "Multiply");
    EXPECT_NE(layer.class_name(), "Dropout");
  }
  EXPECT_EQ(MobileNetV2({.alpha = 1.4, .weights = "none"}).get_layer("Conv_1").weights()[0].shape(),
            (Shape{1, 1, 448, 1792}));
  EXPECT_EQ(MobileNetV3Small({.include_preprocessing = false, .weights = "none"}).get_layer(1).name(),
            "conv");
}

TEST_F(ApplicationArguments, ImagesOfOtherChannelsHaveOtherPreprocessing) {
  EXPECT_EQ(EfficientNetV2B0({.input_shape = {64, 64, 4}, .weights = "none"}).get_layer(2).name(),
            "stem_conv");
  EXPECT_EQ(ConvNeXtTiny({.input_shape = {64, 64, 1}, .weights = "none"}).get_layer(1).name(),
            "convnext_tiny_stem");
}

}  // namespace
}  // namespace nyala
