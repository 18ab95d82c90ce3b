#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

Tensor of(const std::vector<float>& values, const Shape& shape) { return Tensor::from(values, shape); }

Tensor masked(const Tensor& x, const std::vector<uint8_t>& steps) {
  std::vector<uint8_t> bytes = steps;
  const Tensor mask = Tensor::empty({1, static_cast<int64_t>(steps.size())}, DType::bool_);
  mask.copy_from_host(bytes.data());
  return with_mask(x, mask);
}

std::vector<float> merged(const Layer& layer, const std::vector<Tensor>& inputs) {
  return layer(inputs).to_vector<float>();
}

std::vector<bool> steps_of(const Tensor& x) { return mask_of(x).to_vector<bool>(); }

TEST(MergeLayers, ElementByElement) {
  const Tensor a = of({1, -2, 3}, {1, 3}), b = of({4, 5, -6}, {1, 3}), c = of({2, 2, 2}, {1, 3});
  EXPECT_EQ(merged(Multiply(), {a, b, c}), (std::vector<float>{8, -20, -36}));
  EXPECT_EQ(merged(Subtract(), {a, b}), (std::vector<float>{-3, -7, 9}));
  EXPECT_EQ(merged(Average(), {a, b, c}), (std::vector<float>{7.0f / 3, 5.0f / 3, -1.0f / 3}));
  EXPECT_EQ(merged(Maximum(), {a, b, c}), (std::vector<float>{4, 5, 3}));
  EXPECT_EQ(merged(Minimum(), {a, b, c}), (std::vector<float>{1, -2, -6}));
}

TEST(MergeLayers, RanksAreFilledUpBehindTheBatch) {
  const Tensor wide = of({1, 2, 3, 4}, {1, 2, 2}), narrow = of({10, 20}, {1, 2});
  EXPECT_EQ(merged(Multiply(), {narrow, wide}), (std::vector<float>{10, 40, 30, 80}));
  EXPECT_EQ(Maximum()({wide, narrow}).shape(), (Shape{1, 2, 2}));
}

TEST(MergeLayers, MaskedStepsDoNotTakePart) {
  const Tensor a = masked(of({1, 2, 3}, {1, 3, 1}), {1, 0, 0}),
               b = masked(of({5, -5, 7}, {1, 3, 1}), {0, 1, 0});
  const Tensor largest = Maximum()({a, b});
  EXPECT_EQ(largest.to_vector<float>(), (std::vector<float>{1, -5, 3}));
  EXPECT_EQ(steps_of(largest), (std::vector<bool>{true, true, false}));
  const Tensor product = Multiply()({a, b});
  EXPECT_EQ(product.to_vector<float>(), (std::vector<float>{1, -5, 0}));
  EXPECT_EQ(steps_of(product), (std::vector<bool>{true, true, false}));
}

TEST(MergeLayers, OneInputWithoutAMaskTakesTheMaskAway) {
  const Tensor a = masked(of({1, 2}, {1, 2, 1}), {1, 0}), b = of({5, -5}, {1, 2, 1});
  const Tensor least = Minimum()({b, a});
  EXPECT_EQ(least.to_vector<float>(), (std::vector<float>{1, -5}));
  EXPECT_FALSE(mask_of(least).defined());
  EXPECT_FALSE(mask_of(Average()({a, b})).defined());
  EXPECT_EQ(merged(Multiply(), {a, b}), (std::vector<float>{5, -5}));
}

TEST(MergeLayers, RefuseWhatDoesNotFit) {
  const Tensor a = of({1, 2}, {1, 2}), b = of({1, 2, 3}, {1, 3}), c = of({1, 2, 3, 4}, {2, 2});
  EXPECT_THROW(Multiply()({a, b}), ShapeError);
  EXPECT_THROW(Maximum()({a, c}), ShapeError);
  EXPECT_THROW(Subtract()({a, a, a}), InvalidArgumentError);
  EXPECT_THROW(Subtract()(a), InvalidArgumentError);
  EXPECT_EQ(Minimum()({Tensor::zeros({0, 2}), Tensor::zeros({0, 2})}).shape(), (Shape{0, 2}));
}

TEST(DotLayer, ContractsOneAxisOfEach) {
  const Tensor a = of({1, 2, 3, 4, 5, 6}, {1, 2, 3}), b = of({1, 0, -1}, {1, 3});
  EXPECT_EQ(Dot(2, 1)({a, b}).shape(), (Shape{1, 2}));
  EXPECT_EQ(merged(Dot(2, 1), {a, b}), (std::vector<float>{-2, -2}));
  EXPECT_EQ(Dot(1)({b, b}).shape(), (Shape{1, 1}));
  EXPECT_EQ(Dot(1, 1)({a, a}).shape(), (Shape{1, 3, 3}));
  EXPECT_EQ(Dot(1)({Tensor::zeros({0, 3}), Tensor::zeros({0, 3})}).shape(), (Shape{0, 1}));
  EXPECT_FLOAT_EQ(merged(Dot(-1, {.normalize = true}), {b, b})[0], 1.0f);
}

TEST(DotLayer, RefusesWhatDoesNotFit) {
  const Tensor a = of({1, 2}, {1, 2}), b = of({1, 2, 3}, {1, 3});
  EXPECT_THROW(Dot(0), InvalidArgumentError);
  EXPECT_THROW(Dot({.axes = {1, 2, 3}}), InvalidArgumentError);
  EXPECT_THROW(Dot(1)({a, b}), ShapeError);
  EXPECT_THROW(Dot(2)({a, a}), ShapeError);
  EXPECT_THROW(Dot(1)({a, a, a}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
