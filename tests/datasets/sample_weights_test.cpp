#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/base/dataset.h>

namespace nyala {

namespace {

const Tensor a{1, 2}, b{3, 4};

TEST(SampleWeights, OfAllOutputsAreThoseOfEach) {
  const Batch batch{.x = {a}, .y = {a, b}, .sample_weight = b};
  EXPECT_EQ(batch.sample_weight[0].to_vector<float>(), b.to_vector<float>());
  EXPECT_EQ(batch.sample_weight[1].to_vector<float>(), b.to_vector<float>());
  const Tensor all = batch.sample_weight;
  EXPECT_EQ(all.to_vector<float>(), b.to_vector<float>());
}

TEST(SampleWeights, OfEachOutput) {
  const Batch batch{.x = {a}, .y = {a, b, b}, .sample_weight = Tensors{a, Tensor(), b}};
  EXPECT_EQ(batch.sample_weight[0].to_vector<float>(), a.to_vector<float>());
  EXPECT_FALSE(batch.sample_weight[1].defined());
  EXPECT_EQ(batch.sample_weight[2].to_vector<float>(), b.to_vector<float>());
  EXPECT_FALSE(batch.sample_weight[3].defined());
  EXPECT_THROW((void)static_cast<Tensor>(batch.sample_weight), StateError);
}

TEST(SampleWeights, None) {
  const Batch batch{.x = {a}};
  EXPECT_FALSE(batch.sample_weight.defined());
  EXPECT_FALSE(batch.sample_weight[0].defined());
  EXPECT_FALSE(static_cast<Tensor>(batch.sample_weight).defined());
  EXPECT_FALSE(SampleWeights(Tensor()).defined());
}

TEST(SampleWeights, AreBatchedLikeTheRest) {
  const Element rows{.x = {a}, .y = {a, b}, .sample_weight = Tensors{Tensor(), b}};
  for (const Batch& batch : Dataset::from_tensor_slices(rows).batch(2)) {
    EXPECT_FALSE(batch.sample_weight[0].defined());
    EXPECT_EQ(batch.sample_weight[1].to_vector<float>(), b.to_vector<float>());
  }
  for (const Batch& batch : Dataset::from_tensor_slices(rows).map([](Element e) { return e; }).batch(2))
    EXPECT_EQ(batch.sample_weight[1].to_vector<float>(), b.to_vector<float>());
}

}  // namespace

}  // namespace nyala
