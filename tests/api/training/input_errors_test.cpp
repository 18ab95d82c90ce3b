// What somebody forgot is named: the axis of the rows, the option of MeanIoU, predict_all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Tensor kImage = Tensor::zeros({28, 28, 1});

void expect_axis_is_named(const std::function<void()>& call, const std::string& received) {
  EXPECT_THAT(error_text<ShapeError>(call),
              AllOf(HasSubstr("expected shape (None, 28, 28, 1), received " + received),
                    HasSubstr("ops::expand_dims(x, 0)")));
}

TEST(MissingBatchAxis, IsNamedByEveryCall) {
  const Input input({28, 28, 1});
  const Sequential chain({Input({28, 28, 1}), Flatten(), Dense(2)});
  const Model graph(input, Dense(2)(Flatten()(input)));
  for (const Model& model : {Model(chain), graph}) {
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor y = Tensor::zeros({28, 2});
    expect_axis_is_named([&] { model.predict(kImage, {.verbose = 0}); }, "(28, 28, 1)");
    expect_axis_is_named([&] { model.predict_on_batch(kImage); }, "(28, 28, 1)");
    expect_axis_is_named([&] { model(kImage); }, "(28, 28, 1)");
    expect_axis_is_named([&] { model.fit(kImage, y, {.verbose = 0}); }, "(28, 28, 1)");
    expect_axis_is_named([&] { model.evaluate(kImage, y, {.verbose = 0}); }, "(28, 28, 1)");
    expect_axis_is_named([&] { model.train_on_batch(kImage, y); }, "(28, 28, 1)");
    EXPECT_EQ(model(Tensor::zeros({3, 28, 28})).shape(),
              (Shape{3, 2}));  // a last axis of 1 is added, as in Keras
  }
}

TEST(MissingBatchAxis, ShapesAreThoseOfTheArrayNotOfABatch) {
  const Sequential model({Input({64, 64, 3}), GlobalAveragePooling2D()});
  EXPECT_THAT(error_text<ShapeError>([&] {
                model.predict(Tensor::zeros({64, 64, 3}), {.verbose = 0});
              }),
              HasSubstr("received (64, 64, 3)"));
}

TEST(MissingBatchAxis, LayersNameIt) {
  EXPECT_THAT(error_text<ShapeError>([] { Dense(2)(Tensor::zeros({4})); }),
              HasSubstr("ops::expand_dims(x, 0)"));
  EXPECT_THAT(error_text<ShapeError>([] { Conv2D(2, 3)(kImage); }), HasSubstr("ops::expand_dims(x, 0)"));
}

TEST(InputErrors, PredictionsAreRows) {
  const Input input({3});
  const Model scalar(input, ops::sum(input));
  EXPECT_THAT(error_text<ShapeError>([&] {
                scalar.predict(Tensor::ones({4, 3}), {.verbose = 0});
              }),
              AllOf(HasSubstr("a row for each of the 4 rows of the inputs"), HasSubstr("received shape ()"),
                    HasSubstr("keep axis 0")));
  const Model columns(input, ops::sum(input, {0}));
  EXPECT_THAT(error_text<ShapeError>([&] {
                columns.predict(Tensor::ones({4, 3}), {.verbose = 0});
              }),
              AllOf(HasSubstr("each of the 4 rows"), HasSubstr("received shape (3,)")));
}

TEST(InputErrors, MeanIoUSaysWhichOption) {
  metrics::MeanIoU iou({.num_classes = 3});
  EXPECT_THAT(error_text<ShapeError>([&] {
                iou.update_state(Tensor::zeros({2, 4}), Tensor::zeros({2, 4, 3}));
              }),
              HasSubstr(".sparse_y_pred = false"));
  EXPECT_THAT(error_text<InvalidArgumentError>(
                  [] { metrics::MeanIoU().update_state(Tensor::zeros({2}), Tensor::zeros({2})); }),
              HasSubstr("MeanIoU({.num_classes = 3})"));
}

TEST(InputErrors, SeveralOutputsNeedPredictAll) {
  const Input input({4});
  const Model model({.inputs = {input}, .outputs = {Dense(2)(input), Dense(3)(input)}});
  EXPECT_THAT(error_text<StateError>([&] {
                model.predict(Tensor::zeros({5, 4}), {.verbose = 0});
              }),
              HasSubstr("predict_all({x})"));
}

TEST(Compile, JitCompileIsTakenAndSaidOnce) {
  std::vector<std::string> said;
  set_log_sink([&](LogChannel, std::string_view text) { said.emplace_back(text); });
  const Sequential model({Input({4}), Dense(2)});
  for (int i = 0; i < 3; ++i) model.compile({.optimizer = "sgd", .loss = "mse", .jit_compile = true});
  set_log_sink({});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("jit_compile is ignored"));
}

TEST(TrainOnBatch, TakesClassWeights) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3}, {3, 1}),
               y = Tensor::from(std::vector<int32_t>{0, 1, 1});
  const auto loss = [&](const Tensor& weights, const std::map<int64_t, double>& classes) {
    Sequential model({Input({1}), Dense(2, {.kernel_initializer = "ones"})});
    model.compile({.optimizer = SGD(0.1), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    (void)model.train_on_batch(x, y, weights, classes)["loss"];
    return model.test_on_batch(x, y)["loss"];
  };
  const double by_row = loss(Tensor{1.0f, 5.0f, 5.0f}, {});
  EXPECT_NEAR(loss({}, {{1, 5.0}}), by_row, 1e-6);
  EXPECT_NE(loss({}, {}), by_row);
  EXPECT_THROW(loss(Tensor{1.0f, 5.0f, 5.0f}, {{1, 5.0}}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
