// Layers that change or mix images do the same under every strategy: numbers are drawn by an image's place in
// the global batch, and partners and histograms are those of all replicas' images.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/expect_promise.h>

namespace nyala::image_layers_promise_test {

using namespace nyala::detail;
namespace {

constexpr int64_t kRows = 19, kSide = 6, kClasses = 3;  // batches of 6, the last one of 1
const FactorRange kValues = {-3.0, 3.0};

CaseData images(DType dtype) {
  CaseData data;
  data.x = {random_numbers(1, {kRows, kSide, kSide, 3}, dtype)};
  data.y = {random_labels(2, kRows, kClasses)};
  data.fit.batch_size = 6;
  data.fit.epochs = 2;
  data.fit.verbose = 0;
  return data;
}

PromiseCase behind_images(const std::string& name,
                          const std::function<std::vector<Layer>(std::string)>& layers) {
  return {name,
          [=](const std::string& dtype) {
            std::vector<Layer> all = {Input({kSide, kSide, 3}, {.dtype = dtype})};
            for (const Layer& layer : layers(dtype)) all.push_back(layer);
            all.push_back(Conv2D(4, 3, {.activation = "relu", .dtype = dtype}));
            all.push_back(Flatten({.dtype = dtype}));
            all.push_back(Dense(kClasses, {.dtype = dtype}));
            const Sequential net(all);
            net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}),
                         .loss = SparseCategoricalCrossentropy({.from_logits = true})});
            return net;
          },
          images};
}

TEST(PromiseOfImageLayers, ColoursAndShapes) {
  expect_promise(behind_images("colours and shapes", [](const std::string& dtype) {
    return std::vector<Layer>{
        RandomColorJitter({.value_range = kValues,
                           .brightness_factor = 0.1,
                           .contrast_factor = 0.2,
                           .saturation_factor = {0.3, 0.6},
                           .hue_factor = 0.2,
                           .seed = 1,
                           .dtype = dtype}),
        Conv2D(3, 1, {.dtype = dtype}),  // gradients go through those behind it
        RandomGaussianBlur({.factor = {0.3, 0.7}, .value_range = kValues, .seed = 2, .dtype = dtype}),
        RandomErasing({.value_range = kValues, .seed = 3, .dtype = dtype}),
        RandomShear(0.2, 0.1, {.seed = 4, .dtype = dtype}),
        RandomPerspective({.scale = 0.4, .seed = 5, .dtype = dtype}),
        RandomElasticTransform({.value_range = kValues, .seed = 6, .dtype = dtype})};
  }));
}

TEST(PromiseOfImageLayers, PartnersAndHistogramsOfAllReplicas) {
  expect_promise(behind_images("mixed images", [](const std::string& dtype) {
    return std::vector<Layer>{
        Equalization({.value_range = kValues, .bins = 16, .dtype = dtype}), Conv2D(3, 1, {.dtype = dtype}),
        MixUp({.alpha = 0.4, .seed = 1, .dtype = dtype}), CutMix({.seed = 2, .dtype = dtype})};
  }));
}

TEST(PromiseOfImageLayers, Policies) {
  expect_promise(behind_images("policies", [](const std::string& dtype) {
    return std::vector<Layer>{
        RandAugment({.value_range = kValues, .seed = 1, .dtype = dtype}),
        AugMix({.value_range = kValues, .num_chains = 2, .chain_depth = 2, .seed = 2, .dtype = dtype})};
  }));
}

}  // namespace
}  // namespace nyala::image_layers_promise_test
