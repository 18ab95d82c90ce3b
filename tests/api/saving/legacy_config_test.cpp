#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/formats/legacy_config.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {
namespace {

/// A model of one layer as Keras of that version wrote it.
Layer load(const std::string& keras_version, const Json& layer) {
  LoadScope scope;
  const Json model = {{"class_name", "Sequential"}, {"config", Json::array({layer})}};
  return layer_from_json(upgrade_model_config(model, keras_version, "file"), "file", scope);
}

TEST(LegacyConfig, Convolution3DOfKeras1) {
  const Layer model = load("1.2.2", {{"class_name", "Convolution3D"},
                                     {"config",
                                      {{"name", "convolution3d_1"},
                                       {"trainable", true},
                                       {"batch_input_shape", {nullptr, 5, 6, 7, 2}},
                                       {"input_dtype", "float32"},
                                       {"nb_filter", 3},
                                       {"kernel_dim1", 2},
                                       {"kernel_dim2", 3},
                                       {"kernel_dim3", 4},
                                       {"init", "glorot_uniform"},
                                       {"activation", "relu"},
                                       {"border_mode", "same"},
                                       {"subsample", {1, 2, 1}},
                                       {"dim_ordering", "tf"},
                                       {"W_regularizer", nullptr},
                                       {"b_regularizer", nullptr},
                                       {"activity_regularizer", nullptr},
                                       {"W_constraint", nullptr},
                                       {"b_constraint", nullptr},
                                       {"bias", true}}}});
  EXPECT_EQ(model.weights().at(0).shape(), (Shape{2, 3, 4, 2, 3}));
  EXPECT_EQ(model(Tensor::zeros({1, 5, 6, 7, 2})).shape(), (Shape{1, 5, 3, 7, 3}));
}

TEST(LegacyConfig, SparseOutputsAreRefused) {
  const auto encoding = [](bool sparse) {
    return Json{{"class_name", "CategoryEncoding"},
                {"config",
                 {{"name", "encoding"},
                  {"batch_input_shape", {nullptr, 2}},
                  {"num_tokens", 3},
                  {"output_mode", "multi_hot"},
                  {"sparse", sparse}}}};
  };
  EXPECT_NO_THROW(load("2.9.0", encoding(false)));
  for (const char* version : {"2.9.0", "3.15.0"}) try {
      load(version, encoding(true));
      FAIL() << version;
    } catch (const FileFormatError& error) {
      EXPECT_NE(std::string(error.what()).find("sparse"), std::string::npos) << error.what();
    }
}

/// Keras 2 has a policy as a class of the package of that time, or as a name.
TEST(LegacyConfig, MixedPoliciesAreThoseOfLayers) {
  const Json policies = {
      "mixed_bfloat16",
      {{"class_name", "Policy"}, {"config", {{"name", "mixed_bfloat16"}}}},
      {{"class_name", "PolicyV1"}, {"config", {{"name", "float32"}, {"loss_scale", nullptr}}}},
      {{"class_name", "Policy"}, {"config", {{"name", "_infer"}}}}};
  Json layers = Json::array();
  for (size_t i = 0; i < policies.size(); ++i)
    layers.push_back(
        {{"class_name", "Dense"},
         {"config", {{"name", "dense_" + std::to_string(i)}, {"units", 2}, {"dtype", policies[i]}}}});
  layers[0]["config"]["batch_input_shape"] = {nullptr, 3};
  LoadScope scope;
  const Json model = {{"class_name", "Sequential"}, {"config", {{"name", "mixed"}, {"layers", layers}}}};
  const Layer loaded = layer_from_json(upgrade_model_config(model, "2.9.0", "file"), "file", scope);
  std::vector<std::string> names;
  for (const auto& [attribute, layer] : loaded.node().sublayers())
    names.push_back(layer.dtype_policy().name());
  EXPECT_EQ(names, (std::vector<std::string>{"mixed_bfloat16", "mixed_bfloat16", "float32", "float32"}));
}

/// In Keras 2 the call of a model with a dictionary is one of lists.
TEST(LegacyConfig, ModelsThatAreCalledWithDictionaries) {
  const auto input = [](const char* name) {
    return Json{{"class_name", "InputLayer"},
                {"config", {{"batch_input_shape", {nullptr, 1}}, {"name", name}}},
                {"name", name},
                {"inbound_nodes", Json::array()}};
  };
  const auto place = [](const char* layer) { return Json::array({layer, 0, 0}); };
  const auto call = [](const char* layer) { return Json::array({layer, 0, 0, Json::object()}); };
  const Json subtract = {{"class_name", "Subtract"},
                         {"config", {{"name", "subtract"}, {"trainable", true}}},
                         {"name", "subtract"},
                         {"inbound_nodes", Json::array({Json::array({call("z"), call("a")})})}};
  const auto model = [&](const char* name, const Json& layers, const Json& inputs, const char* output) {
    return Json{{"class_name", "Functional"},
                {"config",
                 {{"name", name},
                  {"layers", layers},
                  {"input_layers", inputs},
                  {"output_layers", Json::array({place(output)})}}}};
  };
  const Json inputs = Json::array({place("z"), place("a")});
  Json inner = model("inner", Json::array({input("z"), input("a"), subtract}), inputs, "subtract");
  inner["name"] = "inner";
  inner["inbound_nodes"] = Json::array({Json{{"a", call("a")}, {"z", call("z")}}});
  const Json outer = model("outer", Json::array({input("z"), input("a"), inner}), inputs, "inner");
  LoadScope scope;
  const Layer loaded = layer_from_json(upgrade_model_config(outer, "2.9.0", "file"), "file", scope);
  const Tensors given = loaded.call_all({Tensor::full({1, 1}, 5.0), Tensor::full({1, 1}, 3.0)});
  EXPECT_EQ(given.at(0).to_vector<float>(), std::vector<float>{2});
}

}  // namespace
}  // namespace nyala
