// Layers that change images, held to Keras by given draws, from Keras' configurations; and in Keras' models.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_mixing.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

Tensor drawn(const Json& entry, const char* kind) {
  return entry.contains(kind) ? tensor(entry.at(kind)) : Tensor();
}

/// Values of bytes are larger than those of fractions, and so is what rounding makes of them.
Tolerance tolerance_of(const Json& entry) {
  double largest = 1.0;
  for (const double value : numbers(entry.at("x").at("data"))) largest = std::max(largest, std::abs(value));
  return {.absolute = 2e-5 * largest, .relative = 2e-5};
}

TEST(GoldenAugmentation, LayersWithGivenDraws) {
  const Json golden = load("augmentation_layers.json");
  ASSERT_GE(golden.at("cases").size(), 30u);
  for (const Json& entry : golden.at("cases")) {
    const std::string name = entry.at("class").as_string();
    SCOPED_TRACE(name + " " + entry.at("config").dump());
    const Layer layer = Layer::from_config(name, entry.at("config").dump());
    const auto* const node = dynamic_cast<const ImageAugmentation*>(&layer.node());
    ASSERT_NE(node, nullptr);
    const Tensor x = tensor(entry.at("x"));
    layer.node().ensure_built({x.shape()});
    Call call;
    call.set_training(true);
    const Tensor y = node->changed(call, x,
                                   {.each = drawn(entry, "each"),
                                    .all = drawn(entry, "all"),
                                    .normal = drawn(entry, "normal"),
                                    .gamma = drawn(entry, "gamma")});
    expect_close(y, entry.at("y"), name, tolerance_of(entry));
  }
}

TEST(GoldenAugmentation, LayersInModelsOfKeras) {
  const Json golden = load("augmentation_layers.json");
  for (const Json& entry : golden.at("cases")) {
    if (!entry.contains("model")) continue;
    const std::string name = entry.at("class").as_string();
    SCOPED_TRACE(name + " " + entry.at("config").dump());
    const Model model = model_from_json(entry.at("model").dump());
    const Model again = model_from_json(model.to_json());
    EXPECT_EQ(again.to_json(), model.to_json());
    for (const Model& each : {model, again})
      expect_close(each.predict(tensor(entry.at("x")), {.verbose = 0}), entry.at("predicted"), name,
                   tolerance_of(entry));
  }
}

TEST(GoldenAugmentation, MixedImagesAndLabels) {
  const Json golden = load("augmentation_layers.json");
  ASSERT_EQ(golden.at("mixed").size(), 2u);
  for (const Json& entry : golden.at("mixed")) {
    const std::string name = entry.at("class").as_string();
    SCOPED_TRACE(name);
    const Layer layer = Layer::from_config(name, entry.at("config").dump());
    const auto* const node = dynamic_cast<const ImageMixing*>(&layer.node());
    ASSERT_NE(node, nullptr);
    const Tensors y = node->mixed(tensors(entry.at("x")), tensors(entry.at("partners")),
                                  {.each = drawn(entry, "each"), .gamma = drawn(entry, "gamma")});
    for (size_t i = 0; i < 2; ++i) expect_close(y.at(i), entry.at("y").at(i), name);
    const Model model = model_from_json(entry.at("model").dump());
    const Model again = model_from_json(model.to_json());
    EXPECT_EQ(again.to_json(), model.to_json());
    EXPECT_NE(model.to_json().find("\"labels\":"), std::string::npos);
    const Tensors predicted = again.predict_all(tensors(entry.at("x")), {.verbose = 0});
    for (size_t i = 0; i < 2; ++i) expect_close(predicted.at(i), entry.at("x").at(i), name);
  }
}

TEST(GoldenAugmentation, DictionariesAndPipelines) {
  const Json golden = load("augmentation_layers.json");
  ASSERT_EQ(golden.at("nested").size(), 3u);
  for (const Json& entry : golden.at("nested")) {
    const Model model = model_from_json(entry.at("model").dump());
    const Model again = model_from_json(model.to_json());
    EXPECT_EQ(again.to_json(), model.to_json());
    const Tensors predicted = again.predict_all(tensors(entry.at("x")), {.verbose = 0});
    ASSERT_EQ(predicted.size(), entry.at("predicted").size());
    for (size_t i = 0; i < predicted.size(); ++i)
      expect_close(predicted[i], entry.at("predicted").at(i), "output", {.absolute = 1e-3, .relative = 1e-4});
  }
}

}  // namespace
}  // namespace nyala::golden
