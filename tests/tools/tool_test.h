#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/files/base/file_bytes.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/tools/nyala_process.h>

namespace nyala {

/// A folder with models and arrays for the command.
class ToolTest : public testing::Test {
 protected:
  void SetUp() override {
    clear_session();
    set_random_seed(5);
  }

  std::string file(const std::string& name) const { return folder_.file(name); }
  /// The JSON that a run wrote into the folder.
  Json json_in(const std::string& name) const {
    const auto bytes = FileBytes::open(file(name));
    const auto text = bytes->part(0, bytes->size());
    return parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, name);
  }
  ToolRun run(const std::vector<std::string>& arguments, const std::string& output = "") const {
    return NyalaProcess(folder_.path().string(), arguments, output).wait();
  }
  /// Fails unless the run ended well; shows what it said.
  ToolRun run_well(const std::vector<std::string>& arguments) const {
    ToolRun result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }

  static Tensor numbers(const Shape& shape, uint64_t seed) {
    DrawStream random(seed);
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (float& value : values) value = static_cast<float>(random.uniform(-1.0, 1.0));
    return Tensor::from(values, shape);
  }
  /// Writes an array and returns its path.
  std::string saved(const std::string& name, const Tensor& value) const {
    save_npy(file(name), value);
    return file(name);
  }

  /// One input of 4 numbers, two classes, Adam.
  Model classifier() const {
    const Sequential model({Input({4}), Dense(6, {.activation = "tanh"}), BatchNormalization(),
                            Dense(2, {.activation = "softmax"})});
    model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    return model;
  }
  /// Inputs "left" of 3 and "right" of 2 numbers, outputs "sum" of 1 and "both" of 2.
  Model two_by_two() const {
    const Tensor left = Input({3}, {.name = "left"}), right = Input({2}, {.name = "right"});
    const Tensor all = Concatenate()({left, right});
    const Model model({.inputs = {left, right},
                       .outputs = {Dense(1, {.name = "sum"})(all), Dense(2, {.name = "both"})(all)}});
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    return model;
  }
  static Tensor labels(int64_t rows) {
    std::vector<int64_t> values;
    for (int64_t row = 0; row < rows; ++row) values.push_back(row * row % 3 % 2);
    return Tensor::from(values, {rows});
  }

  static void expect_near(const Tensor& received, const Tensor& expected, float tolerance) {
    ASSERT_EQ(received.shape(), expected.shape());
    const auto a = received.to_vector<float>(), b = expected.to_vector<float>();
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
  }
  static void expect_same_weights(const Model& received, const Model& expected, float tolerance = 0) {
    const std::vector<Tensor> a = received.get_weights(), b = expected.get_weights();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) expect_near(a[i], b[i], tolerance);
  }

  ScratchFolder folder_{"tools"};
};

}  // namespace nyala
