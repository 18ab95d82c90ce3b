#include <string>

#include <gtest/gtest.h>

#include <nyala/api/activations/activations.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {
namespace {

const Tensor kX = {-2.0f, 0.5f};

TEST(ActivationArgument, NamesAndAliases) {
  EXPECT_EQ(ActivationArgument("swish").name(), "silu");
  EXPECT_EQ(ActivationArgument("hard_swish").name(), "hard_silu");
  EXPECT_EQ(ActivationArgument().name(), "linear");
  EXPECT_TRUE(ActivationArgument("linear").is_linear());
  EXPECT_EQ(activations::get("relu")(kX).to_vector<float>(), (std::vector<float>{0.0f, 0.5f}));
}

TEST(ActivationArgument, NamesTakeKerasDefaults) {
  EXPECT_EQ(ActivationArgument("leaky_relu")(kX).to_vector<float>()[0], -0.4f);
  EXPECT_EQ(ActivationArgument("gelu")(kX).to_vector<float>(),
            activations::gelu(kX, false).to_vector<float>());
  EXPECT_EQ(ActivationArgument("elu")(kX).to_vector<float>(), activations::elu(kX, 1.0).to_vector<float>());
}

TEST(ActivationArgument, AWrongNameIsToldWithTheNearest) {
  try {
    ActivationArgument("sigmiod");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'sigmoid'?"), std::string::npos) << error.what();
  }
}

TEST(ActivationArgument, FunctionsOfTheUser) {
  const ActivationArgument twice = [](const Tensor& x) { return x * 2.0; };
  EXPECT_TRUE(twice.is_custom());
  EXPECT_FALSE(twice.is_linear());
  EXPECT_EQ(twice(kX).to_vector<float>(), (std::vector<float>{-4.0f, 1.0f}));
  ActivationArgument copy = twice;
  EXPECT_EQ(copy(kX).to_vector<float>(), twice(kX).to_vector<float>());
  EXPECT_EQ(ActivationArgument(activations::silu)(kX).to_vector<float>(),
            activations::silu(kX).to_vector<float>());
}

TEST(FusedActivation, FusesWhatOpsCanAndAppliesTheRest) {
  for (const char* name : {"linear", "relu", "sigmoid", "tanh"}) {
    const FusedActivation fused(name);
    EXPECT_EQ(fused.rest(kX).to_vector<float>(), kX.to_vector<float>()) << name;
    EXPECT_EQ(fused.fused() == ops::Activation::linear, std::string(name) == "linear");
  }
  for (const char* name : {"softmax", "gelu", "relu6"}) {
    const FusedActivation rest(name);
    EXPECT_EQ(rest.fused(), ops::Activation::linear);
    EXPECT_EQ(rest.rest(kX).to_vector<float>(), ActivationArgument(name)(kX).to_vector<float>()) << name;
  }
}

TEST(FusedActivation, NeverFusesAFunctionOfTheUser) {
  const FusedActivation custom([](const Tensor& x) { return x * 3.0; });
  EXPECT_EQ(custom.fused(), ops::Activation::linear);
  EXPECT_EQ(custom.rest(kX).to_vector<float>()[0], -6.0f);
}

}  // namespace
}  // namespace nyala
