// The model of examples/two_branch_lstm.cpp at its full size, against Keras step by step.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

constexpr int64_t kRows = 100, kLength = 140, kBytes = 256, kUnits = 64;

/// As in areas/shared_lstm.py.
uint32_t mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

Tensor draws(uint32_t first, const Shape& shape, float scale) {
  const Tensor out = Tensor::zeros(shape);
  for (float& x : out.data<float>())
    x = (static_cast<float>(mixed(first++) >> 8) / 16777216.0f - 0.5f) * scale;
  return out;
}

Tensor side(uint32_t first) {
  const Tensor out = Tensor::zeros({kRows, kLength, kBytes});
  const auto values = out.data<float>();
  for (size_t i = 0; i < static_cast<size_t>(kRows * kLength); ++i)
    values[i * kBytes + 97 + mixed(first + static_cast<uint32_t>(i)) % 16] = 1.0f;
  return out;
}

Tensor labels(uint32_t first) {
  std::vector<int32_t> values(kRows);
  for (int32_t& y : values) y = static_cast<int32_t>(mixed(first++) % 3);
  return Tensor::from(values);
}

Tensors first_weights(uint32_t first) {
  const Tensor bias = Tensor::zeros({4 * kUnits});
  for (float& x : bias.rows(kUnits, kUnits).data<float>()) x = 1.0f;
  return {draws(first, {kBytes, 4 * kUnits}, 0.25f), draws(first + 100000, {kUnits, 4 * kUnits}, 0.25f), bias,
          draws(first + 200000, {2 * kUnits, 3}, 0.5f), Tensor::zeros({3})};
}

Model two_branches(const std::string& second) {
  const Tensor a = Input({kLength, kBytes}), b = Input({kLength, kBytes});
  const LSTM shared(kUnits);
  const Tensor left = shared(a);
  Tensor right;
  {
    const auto on = device(second);
    right = shared(b);
  }
  return Model(
      {.inputs = {a, b}, .outputs = {Dense(3, {.activation = "softmax"})(Concatenate()({left, right}))}});
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

void expect_steps_of_keras(const std::string& second) {
  const Json golden = load("shared_lstm.json");
  const auto first = golden.at("first").get<uint32_t>();
  const Model model = two_branches(second);
  model.compile({.optimizer = Adam({.learning_rate = 1e-3}), .loss = "sparse_categorical_crossentropy"});
  const Tensors begin = first_weights(first);
  const Variables weights = model.trainable_weights();
  ASSERT_EQ(weights.size(), begin.size());
  for (size_t i = 0; i < begin.size(); ++i) weights[i].assign(begin[i]);
  const Batch batch{.x = {side(first + 300000), side(first + 400000)}, .y = {labels(first + 500000)}};
  for (const double loss : numbers(golden.at("losses")))
    expect_close(model.train_on_batch(batch)["loss"], loss, "loss", {.absolute = 5e-6, .relative = 5e-6});
  const std::vector<double> moved = numbers(golden.at("moved"));
  for (size_t i = 0; i < begin.size(); ++i)
    expect_close(distance(weights[i].value(), begin[i]), moved[i], "way of weight " + std::to_string(i),
                 {.absolute = 1e-6, .relative = 1e-4});
}

TEST(SharedLstm, StepsAreThoseOfKeras) { expect_steps_of_keras("cpu:0"); }

TEST(SharedLstm, StepsOnTwoDevicesAreThoseOfKeras) {
  const int before = static_cast<int>(list_logical_devices("cpu").size());
  configure_logical_devices("cpu", 2);
  expect_steps_of_keras("cpu:1");
  configure_logical_devices("cpu", before);
}

}  // namespace
}  // namespace nyala::golden
