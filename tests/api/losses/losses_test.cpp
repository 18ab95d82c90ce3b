#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

using namespace nyala::detail;
namespace {

Tensor doubles(const std::vector<double>& values, const Shape& shape) { return Tensor::from(values, shape); }

std::vector<double> values_of(const Tensor& t) { return t.to_vector<double>(); }

class Sink final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t, const Tensor& g) override { gradient = g; }
  Tensor gradient;
};

TEST(Losses, NamesAndObjects) {
  EXPECT_EQ(Loss("mse").node().class_name(), "MeanSquaredError");
  EXPECT_EQ(Loss("MAE").node().class_name(), "MeanAbsoluteError");
  EXPECT_EQ(Loss("bce").node().class_name(), "BinaryCrossentropy");
  EXPECT_EQ(Loss("sparse_categorical_crossentropy").node().class_name(), "SparseCategoricalCrossentropy");
  EXPECT_EQ(Loss(CategoricalCrossentropy({.name = "mine"})).name(), "mine");
  const std::string text = error_text<Error>([] { Loss("mean_squared_eror"); });
  EXPECT_NE(text.find("did you mean 'mean_squared_error'"), std::string::npos) << text;
  EXPECT_NE(error_text<Error>([] { MeanSquaredError({.reduction = "summ"}); }).find("did you mean 'sum'"),
            std::string::npos);
}

TEST(Losses, AFunctionOfTwoTensors) {
  const Loss loss([](const Tensor& y_true, const Tensor& y_pred) { return ops::subtract(y_true, y_pred); },
                  "gap");
  EXPECT_EQ(loss.name(), "gap");
  EXPECT_NEAR(loss(doubles({3, 5}, {2}), doubles({1, 1}, {2})).item(), 3.0, 1e-12);
  EXPECT_NEAR(loss(doubles({3, 5}, {2}), doubles({1, 1}, {2}), doubles({1, 0.5}, {2})).item(), 2.0, 1e-12);
}

TEST(Losses, CrossentropyByShapes) {
  const Tensor probabilities = doubles({.2, .8, .6, .4}, {2, 2});
  const double expected = -(std::log(.8) + std::log(.6)) / 2;
  EXPECT_NEAR(Loss("crossentropy")(Tensor::from<int64_t>({1, 0}), probabilities).item(), expected, 1e-12);
  EXPECT_NEAR(Loss("ce")(doubles({0, 1, 1, 0}, {2, 2}), probabilities).item(), expected, 1e-12);
  EXPECT_NEAR(Loss("ce")(doubles({1, 0}, {2}), doubles({.8, .4}, {2, 1})).item(),
              -(std::log(.8) + std::log(.6)) / 2, 1e-12);
}

TEST(Losses, AVectorOfPredictionsHasOneSampleEach) {
  const Loss loss = MeanSquaredError({.reduction = "none"});
  EXPECT_EQ(values_of(loss(doubles({1, 2, 3}, {3}), doubles({1, 0, 0}, {3}))),
            (std::vector<double>{0, 4, 9}));
  EXPECT_EQ(values_of(loss(doubles({1, 2, 3}, {3, 1}), doubles({1, 0, 0}, {3}))),
            (std::vector<double>{0, 4, 9}));
}

TEST(Losses, ClassesOnAnotherAxis) {
  const Tensor logits = doubles({1, 2, 3, -1, 0, 2, 5, 1, 1, 0, 2, 2}, {2, 3, 2});  // classes on axis 1
  const Tensor labels = Tensor::from(std::vector<int64_t>{2, 0, 1, 1}, {2, 2});
  const Tensor moved = ops::moveaxis(logits, 1, -1);
  const auto sparse = [](int64_t axis) {
    return SparseCategoricalCrossentropy({.from_logits = true, .reduction = "none", .axis = axis});
  };
  EXPECT_EQ(values_of(sparse(1)(labels, logits)), values_of(sparse(-1)(labels, moved)));
  const Tensor one_hot = doubles({0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0}, {2, 3, 2});
  const auto categorical = [](int64_t axis) {
    return CategoricalCrossentropy({.from_logits = true, .axis = axis, .reduction = "none"});
  };
  EXPECT_EQ(values_of(categorical(-2)(one_hot, logits)),
            values_of(categorical(-1)(ops::moveaxis(one_hot, 1, -1), moved)));
}

TEST(Losses, IgnoredRowsDoNotCountAndAllOfThemGiveZero) {
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1});
  const Tensor logits = doubles({1, 2, 3, 1}, {2, 2});
  const double second = -std::log(std::exp(3) / (std::exp(3) + std::exp(1)));
  EXPECT_NEAR(loss(Tensor::from<int64_t>({-1, 0}), logits).item(), second, 1e-12);
  EXPECT_EQ(loss.node().valid_count(Tensor::from<int64_t>({-1, 0}), logits).item(), 1.0);
  Tape tape;
  const Tensor watched = tape.watch(logits, 0);
  const Tensor value = loss(Tensor::from<int64_t>({-1, -1}), watched);
  EXPECT_EQ(value.item(), 0.0);
  Sink sink;
  backward(tape, value, sink);
  for (double g : values_of(sink.gradient)) EXPECT_EQ(g, 0.0);
}

TEST(Losses, MeansOverNothingAreZero) {
  EXPECT_EQ(MeanSquaredError()(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).item(), 0.0);
  const Loss weighted = MeanSquaredError({.reduction = "mean_with_sample_weight"});
  EXPECT_EQ(weighted(doubles({1, 2}, {2, 1}), doubles({0, 0}, {2, 1}), doubles({0, 0}, {2})).item(), 0.0);
}

TEST(Losses, MixedUpTargetsSayWhatToUse) {
  const Tensor logits = Tensor::zeros({4, 3});
  EXPECT_NE(error_text<Error>([&] {
              SparseCategoricalCrossentropy()(Tensor::zeros({4, 3}), logits);
            }).find("CategoricalCrossentropy"),
            std::string::npos);
  EXPECT_NE(error_text<Error>([&] {
              CategoricalCrossentropy()(Tensor::zeros({4, 1}), logits);
            }).find("SparseCategoricalCrossentropy"),
            std::string::npos);
  EXPECT_THROW(SparseCategoricalCrossentropy()(Tensor::zeros({5}, DType::int32), logits), ShapeError);
  EXPECT_THROW(MeanSquaredError()(logits, logits, Tensor::zeros({5})), ShapeError);
}

TEST(Losses, FitRank) {
  EXPECT_EQ(fit_rank(Tensor::zeros({4}), Tensor::zeros({4, 1})).shape(), (Shape{4, 1}));
  EXPECT_EQ(fit_rank(Tensor::zeros({4, 1}), Tensor::zeros({4})).shape(), (Shape{4}));
  EXPECT_EQ(fit_rank(Tensor::zeros({4}), Tensor::zeros({4, 3})).shape(), (Shape{4}));
  EXPECT_EQ(fit_rank(Tensor::zeros({4, 1}), Tensor::zeros({4, 3})).shape(), (Shape{4, 1}));
  const auto [a, b] = fit_ranks(Tensor::zeros({4, 2, 1}), Tensor::zeros({4, 2}));
  EXPECT_EQ(a.shape(), (Shape{4, 2}));
  EXPECT_EQ(b.shape(), (Shape{4, 2}));
}

TEST(Losses, OverlapAndCircleByHand) {
  const Tensor y = doubles({1, 0, 1, 1}, {2, 2}), p = doubles({.5, .5, 1, 0}, {2, 2});
  EXPECT_NEAR(Dice()(y, p).item(), 1 - 2 * 1.5 / (3 + 2 + 1e-7), 1e-12);
  EXPECT_NEAR(Tversky({.alpha = 0.2, .beta = 0.7})(y, p).item(), 1 - 1.5 / (1.5 + .2 * 1.5 + .7 * .5 + 1e-7),
              1e-12);
  EXPECT_FALSE(Dice().node().rows_are_independent());
  EXPECT_FALSE(Dice({.axis = {0, 1}}).node().rows_are_independent());
  EXPECT_TRUE(Dice({.axis = {1}}).node().rows_are_independent());
  EXPECT_FALSE(Circle().node().rows_are_independent());
  const Tensor alone = doubles({1, 0, 0, 1}, {2, 2});
  EXPECT_EQ(Circle()(Tensor::from<int64_t>({0, 1}), alone).item(), 0.0) << "no row has a partner";
  EXPECT_THROW(Circle()(Tensor::from<int64_t>({0, 1, 2}), alone), ShapeError);
}

TEST(Losses, GradientsAreFiniteWhereNormsAndPartnersAreMissing) {
  const auto gradient = [](const Loss& loss, const Tensor& y_true, const Tensor& y_pred) {
    Tape tape;
    Sink sink;
    backward(tape, loss(y_true, tape.watch(y_pred, 0)), sink);
    return values_of(sink.gradient);
  };
  for (const double g : gradient(CosineSimilarity(), doubles({1, 2}, {1, 2}), doubles({0, 0}, {1, 2})))
    EXPECT_TRUE(std::isfinite(g));
  for (const double g : gradient(Circle(), Tensor::from<int64_t>({0, 1}), doubles({1, 0, 0, 1}, {2, 2})))
    EXPECT_EQ(g, 0.0);
}

TEST(Losses, HingeTakesBothKindsOfLabels) {
  const Tensor p = doubles({.3, -.4}, {2, 1});
  EXPECT_NEAR(Hinge()(doubles({1, 0}, {2, 1}), p).item(), Hinge()(doubles({1, -1}, {2, 1}), p).item(), 1e-12);
  EXPECT_NEAR(Hinge()(doubles({1, 0}, {2, 1}), p).item(), (.7 + .6) / 2, 1e-12);
  EXPECT_THROW(CategoricalGeneralizedCrossEntropy({.q = 1.0}), InvalidArgumentError);
}

// 0 and 1 become -1 and 1 where the batch has no other label; a replica's part may have none where the batch
// does.
TEST(Losses, HingeTakesTheLabelsOfTheWholeBatchOnAnyNumberOfDevices) {
  const Tensor x = doubles({1, 2, 3, 4, 5}, {5, 1});
  for (const double last : {-1.0, 1.0}) {
    const Tensor labels = doubles({1, 0, 1, 0, last}, {5, 1});
    for (const Loss& loss : {Loss(Hinge()), Loss(SquaredHinge())}) {
      std::vector<double> expected;
      for (const int devices : {1, 2, 3, 5}) {
        SCOPED_TRACE(std::to_string(devices) + " devices, last label " + std::to_string(last));
        configure_logical_devices("cpu", devices);
        const Model model = mirrored(devices).scope([] {
          return Sequential({Input({1}), Dense(1, {.kernel_initializer = Constant({.value = 0.1})})});
        });
        model.compile({.optimizer = SGD(0.01), .loss = loss, .metrics = {metrics::Hinge()}});
        const History history =
            model.fit(x, labels, {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
        const Logs logs = model.evaluate(x, labels, {.batch_size = 5, .verbose = 0});
        const std::vector<double> received = {history["loss"][0], history["loss"][1], history["hinge"][1],
                                              logs.at("loss"), logs.at("hinge")};
        if (devices == 1) expected = received;
        for (size_t i = 0; i < received.size(); ++i) EXPECT_NEAR(received[i], expected[i], 1e-5) << i;
        configure_logical_devices("cpu", 1);
      }
    }
  }
}

}  // namespace
}  // namespace nyala
