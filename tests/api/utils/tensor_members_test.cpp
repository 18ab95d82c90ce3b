// Members of tensors under a gradient tape and on symbolic tensors.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

using Floats = std::vector<float>;

TEST(TensorMembers, AreDifferentiable) {
  GradientTape tape({.persistent = true});
  const Tensor x = tape.watch(Tensor({{1, 2, 3}, {4, 5, 6}}));
  const auto gradient = [&](const Tensor& y) { return tape.gradient(y, {x})[0].to_vector<float>(); };
  EXPECT_EQ(gradient(x[1].sum()), (Floats{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(gradient((x(slice(), -1) * 2.0).sum()), (Floats{0, 0, 2, 0, 0, 2}));
  EXPECT_EQ(gradient(x(0, slice(None, None, -2)).sum()), (Floats{1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(gradient((x.T().reshape({-1}) * Tensor({1, 2, 3, 4, 5, 6})).sum()), (Floats{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(gradient(x.max()), (Floats{0, 0, 0, 0, 0, 1}));
  Tensor total = x.mean(0);
  total += x[0];
  total *= 2.0;
  EXPECT_EQ(gradient(total.sum()), (Floats{3, 3, 3, 1, 1, 1}));
  Floats rows;
  for (const Tensor row : x) rows.push_back(gradient(row.sum())[0]);
  EXPECT_EQ(rows, (Floats{1, 0}));
  EXPECT_THROW(x[0] = 1.0, StateError);
}

TEST(TensorMembers, TraceGraphs) {
  const Tensor x = Input({4, 3});
  const Tensor last = x(slice(), -1), all = x.reshape({-1, 12}).sum(-1, true);
  const Tensor first = x(ellipsis, 0).max(1, true);
  const Tensor picked = ops::where(last > 0.5, last, 0.0);
  const Model model({.inputs = {x}, .outputs = {last, all, first, picked}});
  const Tensor data = Tensor::arange(0, 24, 1, DType::float32).reshape({2, 4, 3}) / 12.0;
  const auto outputs = model.predict_all({data});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
  EXPECT_FLOAT_EQ(outputs[0].at<float>({1, 2}), 23.0f / 12);
  EXPECT_FLOAT_EQ(outputs[1].at<float>({0, 0}), 66.0f / 12);
  EXPECT_FLOAT_EQ(outputs[2].at<float>({1, 0}), 21.0f / 12);
  EXPECT_FLOAT_EQ(outputs[3].at<float>({0, 0}), 9.0f / 12);
  EXPECT_THROW(x(slice(), 0) = 1.0, StateError);
}

TEST(TensorMembers, OfUnknownSizesAreMadeInLayers) {
  const Tensor x = Input({2});
  const auto shifted = [](const Tensor& y) { return y + ops::ones({y.shape()[0], 1}) + ops::zeros({2}); };
  const Model model(x, Lambda(shifted)(x));
  EXPECT_EQ(model.predict(Tensor({{1, 2}, {3, 4}}), {.verbose = 0}).to_vector<float>(), (Floats{2, 3, 4, 5}));
  EXPECT_THROW(shifted(x), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
