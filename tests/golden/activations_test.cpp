#include <functional>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/rare_activation.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/gradients.h>

namespace nyala::golden {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Function relu_with(const Json& config) {
  const ops::ReluDescriptor parameters{
      .negative_slope = config.value("negative_slope", 0.0),
      .max_value = config.value("max_value", std::numeric_limits<double>::infinity()),
      .threshold = config.value("threshold", 0.0)};
  return [parameters](const Tensor& x) { return ops::relu(x, parameters); };
}

/// Those of rare_activation.h that have arguments.
Function rare_function_of(const std::string& name, const Json& config) {
  const double threshold = config.value("threshold", 0.5);
  const int axis = config.value("axis", -1);
  if (name == "celu")
    return [alpha = config.at("alpha").get<double>()](const Tensor& x) { return ops::celu(x, alpha); };
  if (name == "squareplus")
    return [b = config.at("b").get<double>()](const Tensor& x) { return ops::squareplus(x, b); };
  if (name == "soft_shrink") return [threshold](const Tensor& x) { return ops::soft_shrink(x, threshold); };
  if (name == "hard_shrink") return [threshold](const Tensor& x) { return ops::hard_shrink(x, threshold); };
  if (name == "threshold")
    return [threshold, other = config.at("default_value").get<double>()](const Tensor& x) {
      return ops::threshold(x, threshold, other);
    };
  if (name == "glu") return [axis](const Tensor& x) { return ops::glu(x, axis); };
  if (name == "sparsemax") return [axis](const Tensor& x) { return ops::sparsemax(x, axis); };
  throw std::runtime_error("golden data: no activation " + name);
}

/// The activation of an entry: by its name as a layer takes it, or the op where it has arguments.
Function function_of(const Json& entry) {
  const std::string name = entry.at("name").as_string();
  const Json& config = entry.at("config");
  if (config.empty()) return ActivationArgument(name);
  if (name == "relu") return relu_with(config);
  if (name == "gelu") return [](const Tensor& x) { return ops::gelu(x, true); };
  const int axis = config.value("axis", -1);
  if (name == "softmax") return [axis](const Tensor& x) { return ops::softmax(x, axis); };
  if (name == "log_softmax") return [axis](const Tensor& x) { return ops::log_softmax(x, axis); };
  if (name == "elu")
    return [alpha = config.at("alpha").get<double>()](const Tensor& x) { return ops::elu(x, alpha); };
  if (name == "leaky_relu")
    return [slope = config.at("negative_slope").get<double>()](const Tensor& x) {
      return ops::leaky_relu(x, slope);
    };
  return rare_function_of(name, config);
}

void check_gradient(const Json& entry, const char* x_key, const char* y_key) {
  Tape tape;
  const Tensor x = tape.watch(tensor(entry.at(x_key)), 0);
  const Tensor y = function_of(entry)(x);
  expect_close(y, entry.at(y_key), label(entry), {.absolute = 1e-6, .relative = 2e-6});
  GradientMap gradients;
  backward(tape, y, gradients, tensor(entry.at("upstream")));
  expect_close(gradients.of(0), entry.at("gradient"), label(entry) + " gradient",
               {.absolute = 5e-6, .relative = 1e-5});
}

TEST(GoldenActivations, ElementwiseValues) {
  const Json golden = load("activations.json");
  for (const Json& entry : golden.at("elementwise"))
    expect_close(function_of(entry)(tensor(entry.at("x"))), entry.at("y"), label(entry),
                 {.absolute = 1e-7, .relative = 3e-6});
}

TEST(GoldenActivations, ElementwiseGradients) {
  const Json golden = load("activations.json");
  for (const Json& entry : golden.at("elementwise")) check_gradient(entry, "smooth_x", "smooth_y");
}

TEST(GoldenActivations, SoftmaxOverAnyAxis) {
  const Json golden = load("activations.json");
  for (const Json& entry : golden.at("rows")) check_gradient(entry, "x", "y");
}

TEST(GoldenActivations, Aliases) {
  const Json golden = load("activations.json");
  const Tensor x = {-4.0f, -1.0f, 0.5f, 4.0f};
  for (const Json& entry : golden.at("aliases")) {
    const std::string alias = entry.at("alias").as_string(), name = entry.at("name").as_string();
    EXPECT_EQ(to_doubles(ActivationArgument(alias)(x)), to_doubles(ActivationArgument(name)(x))) << alias;
  }
}

}  // namespace
}  // namespace nyala::golden
