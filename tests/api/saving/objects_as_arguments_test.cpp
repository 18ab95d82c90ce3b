// What Keras allows in a file besides names and numbers: layers as activations, generators as seeds, one
// factor for each class, nested outputs. The numbers are Keras' in tests/golden (layers_arguments.py).
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::objects_as_arguments_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Tensor row(const std::vector<float>& values) {
  return Tensor::from(values, {1, static_cast<int64_t>(values.size())});
}

/// What a file says in {"config": {...}} of the only layer of a Sequential behind an Input of 3 columns.
Model sequential_of(const std::string& class_name, const std::string& config) {
  return model_from_json(
      R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config":
      {"batch_shape": [null, 3], "name": "x"}}, {"class_name": ")" +
      class_name + R"(", "config": )" + config + "}]}}");
}

TEST(ActivationLayers, WithWeightsAreErrors) {
  const auto dense = [](const std::string& activation) {
    return sequential_of("Dense", R"({"name": "d", "units": 2, "activation": )" + activation + "}");
  };
  const Model model = dense(R"({"class_name": "LeakyReLU", "config": {"name": "l", "negative_slope": 0.5}})");
  EXPECT_THAT(model.to_json(),
              AllOf(HasSubstr(R"("activation":{"module":"keras.layers","class_name":"LeakyReLU")"),
                    HasSubstr(R"("negative_slope":0.5)")));
  EXPECT_THAT(
      error_text<FileFormatError>([&] { dense(R"({"class_name": "PReLU", "config": {"name": "p"}})"); }),
      AllOf(HasSubstr("layer 'd'"), HasSubstr("activation 'p' (PReLU): a layer with weights")));
  EXPECT_THAT(error_text<FileFormatError>([&] { dense(R"({"class_name": "Nothing", "config": {}})"); }),
              AllOf(HasSubstr("'activation' (Nothing)"), HasSubstr("is no layer that Nyala has")));
}

TEST(SeedGenerators, StandForTheirSeed) {
  const auto dense = [](const std::string& seed) {
    return sequential_of("Dense", R"({"name": "d", "units": 2, "kernel_initializer":
                                  {"class_name": "GlorotUniform", "config": {"seed": )" +
                                      seed + "}}}");
  };
  const std::string generator = R"({"class_name": "SeedGenerator", "config": {"seed": )";
  const Model model = dense(generator + "7}}");
  EXPECT_THAT(model.to_json(), HasSubstr(R"("seed":7)"));
  EXPECT_EQ(model.weights()[0].value().to_vector<float>(),
            dense("7").weights()[0].value().to_vector<float>());
  EXPECT_THAT(dense(generator + "null}}").to_json(), HasSubstr(R"("seed":null)"));
  for (const std::string& wrong : {generator + "1.5}}", generator + "\"x\"}}", generator + "NaN}}",
                                   std::string(R"({"class_name": "SeedGenerator", "config": {}})"),
                                   std::string(R"({"class_name": "Other", "config": {"seed": 7}})")})
    EXPECT_THAT(error_text<FileFormatError>([&] { dense(wrong); }), HasSubstr("'seed'")) << wrong;
}

TEST(ClassFactorsOfALoss, AreOneOrOneForEachClass) {
  using Focal = CategoricalFocalCrossentropy;
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 0}, {1, 3});
  const Tensor p = Tensor::from(std::vector<float>{0.2f, 0.5f, 0.3f}, {1, 3});
  const float one = Focal({.alpha = 0.5})(y, p).item();
  EXPECT_FLOAT_EQ(Focal({.alpha = {0.1, 0.5, 0.9}})(y, p).item(), one);
  EXPECT_THROW(Focal({.alpha = {0.1, 0.5}})(y, p), ShapeError);
  EXPECT_THROW(Focal({.alpha = std::vector<double>{}}), InvalidArgumentError);
}

TEST(NestedOutputs, AreNamedAndWrittenAsTheyWereRead) {
  const std::string text =
      R"({"class_name": "Functional", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "name": "x"}, "name": "x",
       "inbound_nodes": []},
      {"class_name": "Dense", "config": {"name": "a", "units": 1}, "name": "a", "inbound_nodes": [{"args":
       [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}], "kwargs": {}}]},
      {"class_name": "Dense", "config": {"name": "b", "units": 2}, "name": "b", "inbound_nodes": [{"args":
       [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}], "kwargs": {}}]}],
      "input_layers": {"x": ["x", 0, 0]}, "output_layers": )";
  const auto read = [&](const std::string& outputs) { return model_from_json(text + outputs + "}}"); };
  const Model named = read(R"({"z": ["a", 0, 0], "y": ["b", 0, 0]})");
  EXPECT_EQ(named.model_node().output_names(2), (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(named.outputs()[0].shape(), Shape({None, 2}));
  EXPECT_THAT(named.to_json(), AllOf(HasSubstr(R"("output_layers":{"z":["a",0,0],"y":["b",0,0]})"),
                                     HasSubstr(R"("input_layers":{"x":["x",0,0]})")));
  named.compile({.loss = {{"y", "mse"}, {"z", "mae"}}});
  const History history = named.fit(Tensors{row({1, 2})}, Tensors{row({1, 2}), row({1})}, {.verbose = 0});
  EXPECT_TRUE(history.contains("y_loss") && history.contains("z_loss"));

  const Model nested = read(R"([["a", 0, 0], {"z": ["b", 0, 0], "y": [["a", 0, 0]]}])");
  EXPECT_EQ(nested.outputs().size(), 3u);
  EXPECT_THAT(nested.to_json(), HasSubstr(R"("output_layers":[["a",0,0],{"z":["b",0,0],"y":[["a",0,0]]}])"));
  for (const char* wrong : {R"({"z": 5})", R"([["a", 0, 0], [["b", 0, 0], null]])", R"({"z": "a"})"})
    EXPECT_THAT(error_text<FileFormatError>([&] { read(wrong); }),
                HasSubstr("'output_layers': expected [layer, node, tensor]"))
        << wrong;
}

}  // namespace
}  // namespace nyala::objects_as_arguments_test
