#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/strategies/strategy.h>
#include <nyala/tests/golden/gradients.h>
#include <nyala/tests/golden/make_layer.h>

namespace nyala::golden {
namespace {

const Tolerance kValues = {.absolute = 2e-6, .relative = 1e-5};
const Tolerance kGradients = {.absolute = 1e-5, .relative = 2e-5};

/// Leaves of inputs lie beyond those of variables.
constexpr int32_t kFirstInputLeaf = 1000;

Layer built_layer(const Json& entry, const Tensors& inputs) {
  const Layer layer = make_layer_of(entry.at("name").as_string(), entry.at("config"));
  Shapes shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  layer.node().ensure_built(shapes);
  const Variables weights = layer.weights();
  EXPECT_EQ(weights.size(), entry.at("weights").size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i].name(), entry.at("weights").at(i).at("name").get<std::string>());
    EXPECT_EQ(weights[i].trainable(), entry.at("weights").at(i).at("trainable").get<bool>());
  }
  layer.set_weights(tensors(entry.at("weights")));
  return layer;
}

Tensor run(const Layer& layer, Call& call, const Tensors& inputs) {
  if (inputs.size() == 1) return layer(call, inputs[0]);
  return layer(call, Inputs(inputs)).at(0);
}

void check_state(const Json& entry, const Layer& layer, const Call& call) {
  std::map<std::string, Tensor> after;
  for (const Variable& weight : layer.weights()) after[weight.name()] = weight.value();
  for (const auto& [variable, value] : call.assignments()) after[variable.name()] = value;
  for (const Json& expected : entry.at("weights_after"))
    expect_close(after.at(expected.at("name").as_string()), expected,
                 label(entry) + " " + expected.at("name").get<std::string>(), kValues);
}

void check_gradients(const Json& entry, const Layer& layer, const GradientMap& gradients) {
  for (size_t i = 0; i < entry.at("input_gradients").size(); ++i)
    expect_close(gradients.of(kFirstInputLeaf + static_cast<int32_t>(i)), entry.at("input_gradients").at(i),
                 label(entry) + " gradient of input " + std::to_string(i), kGradients);
  const Variables weights = layer.trainable_weights();
  ASSERT_EQ(weights.size(), entry.at("weight_gradients").size()) << label(entry);
  for (size_t i = 0; i < weights.size(); ++i)
    expect_close(gradients.of(weights[i].node().leaf), entry.at("weight_gradients").at(i),
                 label(entry) + " gradient of " + weights[i].name(), kGradients);
}

void check(const Json& entry) {
  SCOPED_TRACE(label(entry) + (entry.at("training").get<bool>() ? " training" : ""));
  Tensors inputs = tensors(entry.at("inputs"));
  const Layer layer = built_layer(entry, inputs);
  Tape tape;
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = tape.watch(inputs[i], kFirstInputLeaf + static_cast<int32_t>(i));
  CallOptions options;
  options.training = entry.at("training").get<bool>();
  options.tape = &tape;
  options.rows = options.global_rows = inputs[0].shape()[0];
  Call call(options);
  const Tensor output = run(layer, call, inputs);
  expect_close(output, entry.at("output"), label(entry), kValues);
  if (entry.contains("weights_after")) check_state(entry, layer, call);
  GradientMap gradients;
  backward(tape, output, gradients, tensor(entry.at("upstream")));
  check_gradients(entry, layer, gradients);
}

void check_class(const std::string& name) {
  const Json golden = load("layers.json");
  int count = 0;
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != name) continue;
    check(entry);
    ++count;
  }
  EXPECT_GT(count, 0) << name;
}

TEST(GoldenLayers, Dense) { check_class("Dense"); }
TEST(GoldenLayers, Conv2D) { check_class("Conv2D"); }
TEST(GoldenLayers, MaxPooling2D) { check_class("MaxPooling2D"); }
TEST(GoldenLayers, AveragePooling2D) { check_class("AveragePooling2D"); }
TEST(GoldenLayers, GlobalAveragePooling2D) { check_class("GlobalAveragePooling2D"); }
TEST(GoldenLayers, GlobalMaxPooling2D) { check_class("GlobalMaxPooling2D"); }
TEST(GoldenLayers, BatchNormalization) { check_class("BatchNormalization"); }
TEST(GoldenLayers, Activation) { check_class("Activation"); }
TEST(GoldenLayers, ReLU) { check_class("ReLU"); }
TEST(GoldenLayers, Softmax) { check_class("Softmax"); }
TEST(GoldenLayers, Rescaling) { check_class("Rescaling"); }
TEST(GoldenLayers, Flatten) { check_class("Flatten"); }
TEST(GoldenLayers, Reshape) { check_class("Reshape"); }
TEST(GoldenLayers, ZeroPadding2D) { check_class("ZeroPadding2D"); }
TEST(GoldenLayers, Add) { check_class("Add"); }
TEST(GoldenLayers, Concatenate) { check_class("Concatenate"); }
TEST(GoldenLayers, DropoutOfNothing) { check_class("Dropout"); }

}  // namespace
}  // namespace nyala::golden
