#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/golden/make_model.h>

namespace nyala::golden {
namespace {

TEST(GoldenGraphs, LayersAndWeightsAreInKerasOrder) {
  const Json golden = load("graphs.json");
  for (const Json& entry : golden.at("cases")) {
    const Model model = make_model_of(entry.at("model"));
    std::vector<std::string> names;
    for (const Layer& layer : model.layers()) names.push_back(layer.name());
    EXPECT_EQ(names, entry.at("layers").get<std::vector<std::string>>()) << entry.at("model");
    std::vector<std::string> weights;
    for (const Variable& weight : model.weights()) weights.push_back(weight.path());
    EXPECT_EQ(weights, entry.at("weights").get<std::vector<std::string>>()) << entry.at("model");
  }
}

}  // namespace
}  // namespace nyala::golden
