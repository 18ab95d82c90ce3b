#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/ctc_loss.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/tests/conformance/ops/op_checks.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::testing {
namespace {

/// The probability of all paths of class numbers that spell `labels`, one after the other.
double by_enumeration(const std::vector<int64_t>& labels, const std::vector<std::vector<double>>& p) {
  const size_t steps = p.size(), classes = p[0].size();
  double total = 0.0;
  std::vector<size_t> path(steps, 0);
  for (;;) {
    std::vector<int64_t> spelled;
    double probability = 1.0;
    for (size_t t = 0; t < steps; ++t) {
      probability *= p[t][path[t]];
      if (path[t] != 0 && (t == 0 || path[t] != path[t - 1]))
        spelled.push_back(static_cast<int64_t>(path[t]));
    }
    if (spelled == labels) total += probability;
    size_t t = 0;
    while (t < steps && ++path[t] == classes) path[t++] = 0;
    if (t == steps) return total;
  }
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  const Tensor logits = random_tensor({1, 5, 3}, 3);
  const std::vector<double> x = values_of(logits);
  std::vector<std::vector<double>> p;
  for (size_t t = 0; t < 5; ++t) {
    double sum = 0.0;
    std::vector<double> row;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(x[3 * t + c]);
    for (size_t c = 0; c < 3; ++c) row.push_back(std::exp(x[3 * t + c]) / sum);
    p.push_back(row);
  }
  for (const std::vector<int64_t>& labels :
       {std::vector<int64_t>{}, {1}, {2, 1}, {1, 1}, {2, 2, 2}, {1, 2, 1, 2, 1}}) {
    std::vector<double> filled(labels.begin(), labels.end());
    filled.resize(6, 0.0);
    const Tensor target = tensor_of(filled, {1, 6}, DType::int64);
    EXPECT_NEAR(values_of(ops::ctc_loss(target, logits))[0], -std::log(by_enumeration(labels, p)), 1e-5)
        << labels.size() << " labels";
  }
}

TEST(CtcLoss, Gradients) {
  const Tensor target = tensor_of({1, 1, 2, 0, 2, 0, 0, 0}, {2, 4}, DType::int64);
  const Tensors inputs = {random_tensor({2, 6, 3}, 5)};
  expect_gradients([target](const Tensors& t) { return ops::ctc_loss(target, t[0]); }, inputs);
  expect_kernels_agree([target](const Tensors& t) { return ops::ctc_loss(target.to(t[0].device()), t[0]); },
                       inputs);
}

TEST(CtcLoss, WhatDoesNotFit) {
  const Tensor logits = random_tensor({1, 2, 3}, 5);
  EXPECT_EQ(values_of(ops::ctc_loss(tensor_of({1, 1}, {1, 2}, DType::int64), logits))[0], INFINITY)
      << "a repetition needs a blank between";
  EXPECT_EQ(values_of(ops::ctc_loss(Tensor::zeros({0, 2}, DType::int64), random_tensor({0, 2, 3}, 1))).size(),
            0u);
  for (const int64_t none : {int64_t{3}, int64_t{7}, int64_t{-4}, INT64_MIN, INT64_MAX})
    EXPECT_THROW(ops::ctc_loss(tensor_of({0, 1}, {1, 2}, DType::int64), logits, none), ShapeError) << none;
  EXPECT_THROW(ops::ctc_loss(tensor_of({1}, {1}, DType::int64), logits), ShapeError);
  EXPECT_THROW(ops::ctc_loss(tensor_of({1, 1}, {2, 1}, DType::int64), logits), ShapeError);
}

TEST(CtcLoss, ALabelThatIsNoClassIsReported) {
  const Tensor logits = random_tensor({3, 4, 3}, 5);
  for (const int64_t label : {int64_t{3}, int64_t{9}, int64_t{-1}, int64_t{1} << 32}) {
    const Tensor target = Tensor::from(std::vector<int64_t>{1, 2, 2, label, 1, 0}, {3, 2});
    expect_error<NumericError>([&] { ops::ctc_loss(target, logits); },
                               {"label " + std::to_string(label) + " at (1, 1) is outside [0, 3)"});
    StatusWords words;
    const StatusScope scope(words);
    const std::vector<double> losses = values_of(ops::ctc_loss(target, logits));
    EXPECT_TRUE(std::isfinite(losses[0]) && std::isnan(losses[1]) && std::isfinite(losses[2]));
    EXPECT_EQ(words.read().value, label);
  }
}

// Keras' mask_index of -1.
TEST(CtcLoss, CountsABlankBelowZeroFromTheEnd) {
  const Tensor logits = random_tensor({1, 5, 4}, 5), target = tensor_of({1, 2}, {1, 2}, DType::int64);
  const double last = values_of(ops::ctc_loss(target, logits, 3))[0];
  EXPECT_TRUE(std::isfinite(last));
  EXPECT_EQ(values_of(ops::ctc_loss(target, logits, -1))[0], last);
  EXPECT_EQ(values_of(ops::ctc_loss(target, logits, -4))[0], values_of(ops::ctc_loss(target, logits, 0))[0]);
}

}  // namespace
}  // namespace nyala::testing
