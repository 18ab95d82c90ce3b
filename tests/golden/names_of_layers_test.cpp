// Files say `keras.layers` of the layers in the list: Keras has them there, or under a module of its own.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/base/class_name.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden::names_of_layers_test {
namespace {

/// Those whose defaults Keras was asked for.
std::set<std::string> layers_of_keras() {
  std::ifstream file(directory() / "defaults.tsv");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::string name, kind;
    std::istringstream fields(line);
    if (std::getline(fields, name, '\t') && std::getline(fields, kind, '\t') && kind == "layer")
      names.insert(name);
  }
  return names;
}

template <class... Classes>
std::set<std::string> names_of(ClassList<Classes...>) {
  return {detail::class_name_of<Classes>()...};
}

TEST(NamesOfLayers, AreKerasOrHaveAModuleOfTheirOwn) {
  std::set<std::string> others = names_of(Layers{});
  for (const std::string& name : layers_of_keras()) others.erase(name);
  // These are made with an argument, so that they have no defaults of their own.
  for (const char* name : {"Pipeline", "StackedRNNCells", "TimeDistributed"})
    EXPECT_EQ(others.erase(name), 1u) << name;
  const std::map<std::string, Layer> own = {{"CustomScaleLayer", CustomScaleLayer(0.5)},
                                            {"LayerScale", LayerScale(0.5, 3)},
                                            {"StochasticDepth", StochasticDepth(0.5)}};
  for (const std::string& name : others) {
    ASSERT_TRUE(own.contains(name)) << name << " is no layer of Keras', yet files would say keras.layers";
    EXPECT_THAT(layer_to_json(own.at(name))["module"].as_string(),
                testing::StartsWith("keras.src.applications."));
  }
}

}  // namespace
}  // namespace nyala::golden::names_of_layers_test
