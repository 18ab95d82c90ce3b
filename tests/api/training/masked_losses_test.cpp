// What masks, ignored classes and sample weights leave of a loss, and its divisor. Numbers of Keras 3.15:
// Embedding(5, 1, "ones", mask_zero) - Dense(2, "ones") - Dense(2, kernel [[0.5, -0.25], [0.1, 0.2]]) -
// softmax, SGD(0.1), two epochs of one batch of five rows.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;

const Tensor kIds = Tensor::from<float>({1, 2, 0, 3, 0, 4, 0, 0, 0, 2, 2, 2, 1, 0, 0}, {5, 3});
const Tensor kIgnored = Tensor::from<float>({0, -1, 0, 1, 1, 0, 0, 1, 1, 1, 0, -1, -1, 0, 0}, {5, 3});
const Tensor kLabels = Tensor::from<float>({0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0}, {5, 3});
const Tensor kWeights = Tensor::from<float>({1, .5, 2, .25, 1, 1, 3, 1, 1, .5, 1, 2, 1, 1, 4}, {5, 3});

class MaskedLosses : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 3); }
};

Sequential tagger(const Loss& loss) {
  const Sequential model({Input({3}, {.dtype = "int32"}),
                          Embedding(5, 1, {.embeddings_initializer = "ones", .mask_zero = true}),
                          Dense(2, {.kernel_initializer = "ones"}), Dense(2), Activation("softmax")});
  model.weights()[3].assign(Tensor::from<float>({0.5f, -0.25f, 0.1f, 0.2f}, {2, 2}));
  model.compile({.optimizer = SGD(0.1), .loss = loss});
  return model;
}

void expect_trained(const SparseCategoricalCrossentropyConfig& loss, const Tensor& labels,
                    const Tensor& weights, const std::vector<double>& losses,
                    const std::vector<double>& first, const std::vector<double>& second) {
  const Sequential model = tagger(SparseCategoricalCrossentropy(loss));
  const History history = model.fit(
      kIds, labels, {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false, .sample_weight = weights});
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(history["loss"][i], losses[i], 2e-6);
  const std::vector<float> one = model.weights()[1].value().to_vector<float>(),
                           two = model.weights()[3].value().to_vector<float>();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(one[i], first[i], 2e-6);
  for (size_t i = 0; i < second.size(); ++i) EXPECT_NEAR(two[i], second[i], 2e-6);
}

TEST_F(MaskedLosses, IgnoredStepsDoNotCountBesideAMask) {
  on_each_number_of_devices([] {
    expect_trained({.ignore_class = -1}, kIgnored, {}, {0.6800553798675537, 0.6766930818557739},
                   {0.9923563003540039, 1.0010780096054077},
                   {0.48977893590927124, -0.23977892100811005, 0.0897337794303894, 0.21026621758937836});
    expect_trained({.ignore_class = -1}, kIgnored, kWeights, {0.4125414788722992, 0.40433207154273987},
                   {1.0153555870056152, 0.998183012008667},
                   {0.5203549265861511, -0.2703549861907959, 0.12018276751041412, 0.17981724441051483});
  });
}

/// As many rows as steps, so that targets of (row, class) broadcast against the steps of each output: then
/// all rows are gathered, and their masks with them.
TEST_F(MaskedLosses, ALossThatBroadcastsRowsOverStepsHeedsTheMaskOnAnyNumberOfDevices) {
  const Tensor targets = Tensor::from<float>({0.1f, 0.9f, 0.4f, 0.2f, 0.8f, 0.3f}, {3, 2});
  std::vector<double> first;
  on_each_number_of_devices([&] {
    const Sequential model = tagger("mse");
    const History history =
        model.fit(kIds.rows(0, 3), targets, {.batch_size = 3, .epochs = 2, .verbose = 0, .shuffle = false});
    if (first.empty()) first = history["loss"];
    for (size_t epoch = 0; epoch < 2; ++epoch) EXPECT_NEAR(history["loss"][epoch], first[epoch], 1e-6);
  });
}

TEST_F(MaskedLosses, TheMeanBySampleWeightCountsWeightsOfWhatIsLeft) {
  on_each_number_of_devices([] {
    expect_trained({.ignore_class = -1, .reduction = "mean_with_sample_weight"}, kIgnored, kWeights,
                   {0.5500553250312805, 0.5357288718223572}, {1.0201369524002075, 0.9977068901062012},
                   {0.5266464948654175, -0.2766464352607727, 0.12635396420955658, 0.17364604771137238});
    expect_trained({.reduction = "mean_with_sample_weight"}, kLabels, kWeights,
                   {0.4872967302799225, 0.44812923669815063}, {1.0340975522994995, 0.9965513944625854},
                   {0.5448958873748779, -0.29489585757255554, 0.14407549798488617, 0.1559244990348816});
    expect_trained({.reduction = "sum"}, kLabels, kWeights, {3.5329012870788574, 2.4032397270202637},
                   {1.1410777568817139, 0.9850736260414124},
                   {0.6859386563301086, -0.43593862652778625, 0.28321361541748047, 0.016786392778158188});
  });
}

TEST_F(MaskedLosses, NothingIsLeftAndNothingChanges) {
  on_each_number_of_devices([] {
    for (const char* reduction : {"sum_over_batch_size", "mean_with_sample_weight"}) {
      const Sequential model = tagger(SparseCategoricalCrossentropy({.reduction = reduction}));
      const std::vector<Tensor> before = model.get_weights();
      EXPECT_EQ(model.train_on_batch(Tensor::zeros({4, 3}), Tensor::zeros({4, 3}))["loss"], 0.0);
      for (size_t i = 0; i < before.size(); ++i)
        EXPECT_EQ(model.get_weights()[i].to_vector<float>(), before[i].to_vector<float>());
    }
    const Sequential model({Input({2}), Dense(1, {.kernel_initializer = "ones"})});
    model.compile({.optimizer = "sgd", .loss = MeanSquaredError({.reduction = "mean_with_sample_weight"})});
    const Tensor x = Tensor::ones({4, 2}), y = Tensor::ones({4, 1}), none = Tensor::zeros({4});
    EXPECT_EQ(model.train_on_batch(x, y, none)["loss"], 0.0);
    EXPECT_EQ(model.evaluate(x, y, {.verbose = 0, .sample_weight = none})["loss"], 0.0);
    EXPECT_EQ(model.weights()[0].value().to_vector<float>(), (std::vector<float>{1, 1}));
  });
}

TEST_F(MaskedLosses, WhatDoesNotFitIsNamed) {
  on_each_number_of_devices([] {
    const Sequential model({Input({2}), Dense(3)}, {.name = "named"});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = Tensor::zeros({20, 2});
    EXPECT_THAT(
        error_text<ShapeError>([&] {
          model.fit(x, Tensor::zeros({20, 3}),
                    {.batch_size = 20, .verbose = 0, .sample_weight = Tensor::ones({20, 2})});
        }),
        HasSubstr("model 'named': loss 'mean_squared_error': expected a sample_weight of shape (20,), "
                  "one for each of its values, or with an axis of size 1, received shape (20, 2)"));
    EXPECT_THAT(error_text<ShapeError>([&] {
                  model.fit(x, Tensor::zeros({20, 2}), {.batch_size = 20, .verbose = 0});
                }),
                HasSubstr("model 'named': loss 'mean_squared_error' of y_true ("));
  });
  EXPECT_THAT(error_text<ShapeError>([] {
                MeanSquaredError()(Tensor::zeros({5, 2}), Tensor::zeros({5, 3}));
              }),
              HasSubstr("loss 'mean_squared_error' of y_true (5, 2) and y_pred (5, 3): squared_difference"));
}

}  // namespace
}  // namespace nyala
