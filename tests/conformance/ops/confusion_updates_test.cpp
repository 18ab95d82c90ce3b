#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/confusion_updates.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

const Tolerance kExact = {.relative = 1e-12, .absolute = 1e-12};

using Values = std::vector<double>;

Values counts(const Tensor& y, const Tensor& p, const ops::ConfusionDescriptor& d,
              const Tensor& weights = {}) {
  return ops::confusion_update(y, p, weights, d).to_vector<double>();
}

TEST(ConfusionUpdates, ByHand) {
  const Tensor y = tensor_of({1, 0, 1, 0, 1, 1}, {2, 3}), p = tensor_of({.9, .6, .2, .5, .7, .1}, {2, 3});
  ops::ConfusionDescriptor d;
  d.num_thresholds = 2;
  d.thresholds = {0.15f, 0.5f};
  EXPECT_EQ(counts(y, p, d), (Values{3, 2, 0, 1, 2, 1, 1, 2}));
  EXPECT_EQ(counts(y, p, d, tensor_of({1, 10}, {2})), (Values{12, 11, 0, 10, 11, 1, 10, 11}));
  d.class_id = 1;
  EXPECT_EQ(counts(y, p, d), (Values{1, 1, 0, 0, 1, 1, 0, 0}));
  d = {};
  d.top_k = 1;
  d.thresholds = {-1e10f};
  EXPECT_EQ(counts(y, p, d), (Values{2, 0, 2, 2}));
  d = {};
  d.thresholds = {0.5f};
  d.by_label = true;
  EXPECT_EQ(counts(y, p, d), (Values{1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 2}));
}

TEST(ConfusionUpdates, EvenThresholdsAreThoseOfAList) {
  const Tensor y = tensor_of({1, 0, 1, 0, 1, 0, 1}, {7, 1});
  const Tensor p = tensor_of({0, 0, .3, .6, 1, 1, .9}, {7, 1}),
               weights = tensor_of({1, 2, 3, 4, 5, 6, 7}, {7});
  ops::ConfusionDescriptor listed;
  listed.num_thresholds = 5;
  listed.thresholds = {0, .25f, .5f, .75f, 1};
  ops::ConfusionDescriptor even;
  even.num_thresholds = 5;
  even.even = true;
  EXPECT_EQ(counts(y, p, even, weights), counts(y, p, listed, weights));
  listed.thresholds = {-1e-7f, .25f, .5f, .75f, 1 + 1e-6f};
  even.open_ends = true;
  EXPECT_EQ(counts(y, p, even, weights), counts(y, p, listed, weights));
  const Tensor nothing = Tensor::zeros({0, 1}, DType::float32);
  EXPECT_EQ(counts(nothing, nothing, even), Values(20));
}

TEST(ConfusionUpdates, NanIsNeverPredicted) {
  const Tensor y = tensor_of({1, 0}, {2}), p = tensor_of({std::nan(""), std::nan("")}, {2});
  ops::ConfusionDescriptor even;
  even.num_thresholds = 2;
  even.even = even.open_ends = true;
  EXPECT_EQ(counts(y, p, even), (Values{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(ConfusionUpdates, ClassPairsByHand) {
  const Tensor labels = tensor_of({0, 1, 2, 1, -1, 1}, {6}, DType::int32);
  const Tensor guesses = tensor_of({0, 1, 1, 0, 0, 3}, {6});
  EXPECT_EQ(ops::class_pairs_update(labels, guesses, {}, {3, -1}).to_vector<double>(),
            (Values{1, 0, 0, 1, 1, 0, 0, 1, 0}));
  const Tensor weights = tensor_of({1.9, 2, 3, 4, 5, 6}, {6});
  EXPECT_EQ(ops::class_pairs_update(labels, guesses, weights, {3, 1}).to_vector<double>(),
            (Values{1, 0, 0, 0, 0, 0, 0, 3, 0}));
}

TEST(ConfusionUpdates, KernelsAgreeAndShapesAreChecked) {
  const Tensors inputs = {tensor_of({1, 0, 1, 0}, {2, 2}), tensor_of({.9, .6, .2, .5}, {2, 2}),
                          tensor_of({.5, 2}, {2})};
  ops::ConfusionDescriptor even;
  even.num_thresholds = 200;
  even.even = even.by_label = true;
  expect_kernels_agree([even](const Tensors& t) { return ops::confusion_update(t[0], t[1], t[2], even); },
                       inputs, kExact);
  const ops::ClassPairsDescriptor pairs{2, -1};
  expect_kernels_agree([pairs](const Tensors& t) { return ops::class_pairs_update(t[0], t[1], t[2], pairs); },
                       inputs, kExact);
  EXPECT_THROW(ops::confusion_update(inputs[0], inputs[1], inputs[2], {.top_k = 9}), ShapeError);
  EXPECT_THROW(ops::class_pairs_update(inputs[0], inputs[1], {}, {0, -1}), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
