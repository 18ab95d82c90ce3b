#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::weights_test {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sequential conv_net() {
  clear_session();
  return Sequential({Input({6, 6, 1}), Conv2D(2, 3), BatchNormalization(), Flatten(), Dense(3)});
}

std::vector<std::string> names_of(const Variables& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

std::vector<std::vector<float>> values_of(const Tensors& tensors) {
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.to_vector<float>());
  return values;
}

/// Keras' order: layer after layer, each with its trainable ones first.
TEST(ModelWeightsTest, StandLayerAfterLayer) {
  const Sequential net = conv_net();
  EXPECT_THAT(names_of(net.weights()), ElementsAre("kernel", "bias", "gamma", "beta", "moving_mean",
                                                   "moving_variance", "kernel", "bias"));
  EXPECT_THAT(names_of(net.trainable_weights()),
              ElementsAre("kernel", "bias", "gamma", "beta", "kernel", "bias"));
  EXPECT_THAT(names_of(net.non_trainable_weights()), ElementsAre("moving_mean", "moving_variance"));
}

TEST(ModelWeightsTest, TrainableReachesEveryLayer) {
  const Sequential net = conv_net();
  net.set_trainable(false);
  EXPECT_TRUE(net.trainable_weights().empty());
  EXPECT_EQ(net.non_trainable_weights().size(), 8u);
  for (const Layer& layer : net.layers()) EXPECT_FALSE(layer.trainable());
  net.set_trainable(true);
  EXPECT_EQ(net.trainable_weights().size(), 6u);  // statistics never
  net.layers()[0].set_trainable(false);
  EXPECT_EQ(net.trainable_weights().size(), 4u);
  EXPECT_TRUE(net.trainable());
}

TEST(ModelWeightsTest, GetWeightsCopies) {
  const Sequential net = conv_net();
  const Tensors weights = net.get_weights();
  weights[0].copy_from(Tensor::full(weights[0].shape(), 7));
  EXPECT_NE(net.get_weights()[0].to_vector<float>(), weights[0].to_vector<float>());
}

TEST(ModelWeightsTest, SetWeightsGivesTheSamePredictions) {
  const Sequential source = conv_net(), target = conv_net();
  const Tensor x = Tensor::full({3, 6, 6, 1}, 0.3);
  EXPECT_NE(values_of({source.predict(x, {.verbose = 0})}), values_of({target.predict(x, {.verbose = 0})}));
  target.set_weights(source.get_weights());
  EXPECT_EQ(values_of({source.predict(x, {.verbose = 0})}), values_of({target.predict(x, {.verbose = 0})}));
}

TEST(ModelWeightsTest, WrongWeightsChangeNothing) {
  const Sequential net = conv_net();
  const auto before = values_of(net.get_weights());
  Tensors weights = net.get_weights();
  for (Tensor& weight : weights) weight = Tensor::full(weight.shape(), 9);
  weights.back() = Tensor::zeros({4});
  EXPECT_THROW(net.set_weights(weights), ShapeError);
  weights = net.get_weights();
  weights[6] = Tensor::zeros({5, 5});
  EXPECT_THAT(error_text<ShapeError>([&] { net.set_weights(weights); }),
              AllOf(HasSubstr("dense/kernel"), HasSubstr("(32, 3)"), HasSubstr("(5, 5)")));
  weights.pop_back();
  EXPECT_THAT(error_text<ShapeError>([&] { net.set_weights(weights); }),
              AllOf(HasSubstr("8"), HasSubstr("7")));
  EXPECT_EQ(values_of(net.get_weights()), before);
}

TEST(ModelWeightsTest, SetWeightsCasts) {
  clear_session();
  const Sequential net({Input({1}), Dense(1, {.use_bias = false})});
  net.set_weights({Tensor::full({1, 1}, 2.5, DType::float64)});
  EXPECT_EQ(net.get_weights()[0].to_vector<float>(), std::vector<float>({2.5f}));
}

/// Keras 3.15: freezing between compile and the first fit counts, and a frozen layer neither learns nor
/// decays.
TEST(ModelWeightsTest, FreezingBeforeTheFirstFitCounts) {
  clear_session();
  const Sequential net({Input({3}), Dense(2), Dense(1)});
  net.compile(
      {.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1}), .loss = "mse"});
  net.layers()[0].set_trainable(false);
  const auto before = values_of(net.get_weights());
  net.fit(Tensor::full({8, 3}, 1), Tensor::full({8, 1}, 3), {.verbose = 0});
  const auto after = values_of(net.get_weights());
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1], before[1]);
  EXPECT_NE(after[2], before[2]);
  EXPECT_NE(after[3], before[3]);
  EXPECT_EQ(net.optimizer().node().variables_for_file().size(), 4u);  // iteration, learning_rate, two momenta
}

TEST(ModelWeightsTest, AFrozenBatchNormalizationKeepsItsStatistics) {
  const Sequential net = conv_net();
  net.get_layer("batch_normalization").set_trainable(false);
  net.compile({.optimizer = "sgd", .loss = "mse"});
  net.fit(Tensor::full({8, 6, 6, 1}, 1), Tensor::zeros({8, 3}), {.verbose = 0});
  const Layer normalization = net.get_layer("batch_normalization");
  EXPECT_EQ(values_of(normalization.get_weights()),
            (std::vector<std::vector<float>>{{1, 1}, {0, 0}, {0, 0}, {1, 1}}));
}

}  // namespace

}  // namespace nyala::weights_test
