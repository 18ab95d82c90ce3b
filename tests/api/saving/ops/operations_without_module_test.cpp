// In `.h5` Keras writes operations without their module: "Average" stands for a layer there, too.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>

namespace nyala::operations_without_module_test {
namespace {

/// A model of this one entry, called with an input (3, 2) and more arguments.
Model of(const std::string& class_name, const std::string& config, const std::string& more = "") {
  return model_from_json(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 3, 2], "name": "x"}, "name": "x",
       "inbound_nodes": []},
      {"class_name": ")" +
                         class_name + R"(", "config": {"name": "o")" + config + R"(}, "name": "o",
       "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__",
                                    "config": {"keras_history": ["x", 0, 0]}}],
                          "kwargs": {)" +
                         more + R"(}}]}],
      "input_layers": [["x", 0, 0]], "output_layers": [["o", 0, 0]]}})");
}

std::vector<float> given_by(const Model& model) {
  const Tensor x = Tensor::arange(12).reshape({2, 3, 2}).astype("float32");
  return model.predict(x, {.verbose = 0}).to_vector<float>();
}

std::string refused(const std::string& class_name, const std::string& config, const std::string& more) {
  try {
    of(class_name, config, more);
  } catch (const FileFormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Keras' numbers.
TEST(OperationsWithoutModule, AverageIsNoLayer) {
  using Numbers = std::vector<float>;
  EXPECT_EQ(given_by(of("Average", R"(, "axis": 1)")), (Numbers{2, 3, 8, 9}));
  EXPECT_EQ(given_by(of("Average", R"(, "axis": 1)", R"("weights": [1, 2, 5])")), (Numbers{3, 4, 9, 10}));
  EXPECT_EQ(given_by(of("Average", R"(, "axis": -1)", R"("weights": [1, 3])")),
            (Numbers{0.75f, 2.75f, 4.75f, 6.75f, 8.75f, 10.75f}));
  EXPECT_THAT(refused("Average", R"(, "axis": null)", R"("weights": [1, 2])"),
              testing::HasSubstr("'weights': expected the shape of x"));
}

TEST(OperationsWithoutModule, LayersAloneHaveTrainable) {
  const auto written = [](const char* class_name, const std::string& config) {
    return of(class_name, config).to_json();
  };
  using testing::HasSubstr;
  EXPECT_THAT(written("Softmax", R"(, "axis": 1)"), HasSubstr("\"module\":\"keras.src.ops.nn\""));
  EXPECT_THAT(written("Softmax", R"(, "axis": 1, "trainable": true)"),
              testing::Not(HasSubstr("keras.src.ops")));
  EXPECT_THAT(written("Reshape", R"(, "newshape": [-1, 6])"),
              HasSubstr("\"module\":\"keras.src.ops.numpy\""));
  EXPECT_THAT(written("Elu", R"(, "alpha": 0.5)"), HasSubstr("\"module\":\"keras.src.ops.nn\""));
  EXPECT_THAT(written("Reshape", R"(, "trainable": true, "target_shape": [6])"),
              testing::Not(HasSubstr("keras.src.ops")));
}

}  // namespace
}  // namespace nyala::operations_without_module_test
