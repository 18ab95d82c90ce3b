#include <gtest/gtest.h>

#include <string>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::nested_calls_test {
namespace {

Model called_twice(int levels) {
  const Tensor first = Input({2});
  Model model(first, Dense(2, {.kernel_initializer = "identity", .bias_initializer = "ones"})(first));
  for (int i = 0; i < levels; ++i) {
    const Tensor x = Input({2});
    model = Model(x, model(model(x)));
  }
  return model;
}

TEST(NestedCalls, ModelsThatCallTheNextOneTwiceRunEachCall) {
  const Model model = called_twice(10);
  EXPECT_EQ(model.variables().size(), 2u);
  EXPECT_EQ(model.predict(Tensor::zeros({1, 2}), {.verbose = 0}).to_vector<float>(),
            (std::vector<float>{1024, 1024}));
}

// 2^30 calls would take minutes to trace.
TEST(NestedCalls, MoreCallsThanCanBeRunAreRefusedAtOnce) {
  const std::string text = error_text<InvalidArgumentError>([] { called_twice(30); });
  EXPECT_NE(text.find("at most 262144 layers in one call"), std::string::npos) << text;
}

std::string tensor_of(const std::string& layer, int node) {
  return R"([{"args":[{"class_name":"__keras_tensor__","config":{"shape":[null,2],"dtype":"float32",)"
         R"("keras_history":[")" +
         layer + "\"," + std::to_string(node) + R"(,0]}}],"kwargs":{}}])";
}

std::string model_text(const std::string& name, const std::string& inner, int calls) {
  std::string nodes = tensor_of("in", 0);
  if (calls > 1) nodes = nodes.substr(0, nodes.size() - 1) + "," + tensor_of("inner", 0).substr(1);
  return R"({"module":"keras.src.models.functional","class_name":"Functional","registered_name":"Functional",)"
         R"("config":{"name":")" +
         name + R"(","trainable":true,"layers":[{"module":"keras.layers","class_name":"InputLayer","config":)"
                R"({"batch_shape":[null,2],"dtype":"float32","sparse":false,"name":"in"},)"
                R"("registered_name":null,"name":"in","inbound_nodes":[]},)" +
         inner.substr(0, inner.size() - 1) + R"(,"name":"inner","inbound_nodes":)" + nodes +
         R"(}],"input_layers":[["in",0,0]],"output_layers":[["inner",)" + std::to_string(calls > 1 ? 2 : 0) +
         ",0]]}}";
}

TEST(NestedCalls, ASmallFileOfManyCallsIsRefusedAtOnce) {
  std::string text = model_text(
      "inner",
      R"({"module":"keras.layers","class_name":"Activation","registered_name":null,"config":{"name":"inner",)"
      R"("trainable":true,"dtype":"float32","activation":"relu"}})",
      1);
  for (int i = 0; i < 30; ++i) text = model_text("inner", text, 2);
  EXPECT_LT(text.size(), 40000u);
  const std::string error = error_text<Error>([&] { model_from_json(text); });
  EXPECT_NE(error.find("at most 262144 layers in one call"), std::string::npos) << error;
}

TEST(NestedCalls, ChainsThatHoldOneLayerAtTooManyPlacesAreRefusedAtOnce) {
  const std::string text = error_text<InvalidArgumentError>([] {
    Layer inner = Dense(2);
    for (int i = 0; i < 30; ++i) inner = Sequential({Sequential({inner}), Sequential({inner})});
  });
  EXPECT_NE(text.find("1048576 or more places"), std::string::npos) << text;
}

TEST(NestedCalls, AChainOfModelsThatRunTooManyLayersTogetherIsRefused) {
  const Model half = called_twice(17);
  const Tensor x = Input({2});
  const std::string text = error_text<InvalidArgumentError>(
      [&] { Sequential({Input({2}), Sequential({half}), Sequential({half}), Sequential({half})})(x); });
  EXPECT_NE(text.find("at most 262144 layers in one call"), std::string::npos) << text;
}

}  // namespace
}  // namespace nyala::nested_calls_test
