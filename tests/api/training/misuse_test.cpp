// What is easily done by mistake and gave wrong numbers without a word.
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::misuse_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor numbers(const Shape& shape, uint64_t key) {
  return ops::random_uniform(shape, 0.0, 1.0, {.key = key});
}

Model small_net() { return Sequential({Input({4}), Dense(3, {.kernel_initializer = "ones"})}); }

/// The loss of the only epoch.
double trained_once(const Model& model, const Loss& loss, const std::optional<Metric>& metric = {}) {
  if (metric)
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = loss, .metrics = {*metric}});
  else
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = loss});
  const FitConfig config = {.batch_size = 5, .verbose = 0, .shuffle = false};
  return model.fit(numbers({10, 4}, 1), numbers({10, 3}, 2), config)["loss"].back();
}

TEST(Misuse, ALossWithoutAGradientIsAnError) {
  configure_logical_devices("cpu", 2);
  const Tensor x = numbers({8, 4}, 1), y = numbers({8, 3}, 2);
  const Loss detached(
      [](const Tensor& t, const Tensor& p) { return ops::mean(ops::square(t - p), -1).detached(); });
  const Loss chosen(
      [](const Tensor&, const Tensor& p) { return ops::cast(ops::argmax(p, -1), DType::float32); });
  for (const auto& devices : std::vector<std::vector<std::string>>{{"cpu:0"}, {"cpu:0", "cpu:1"}})
    for (const Loss& loss : {detached, chosen}) {
      const Model model = MirroredStrategy({.devices = devices}).scope(small_net);
      model.compile({.optimizer = "adam", .loss = loss});
      EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(x, y, {.verbose = 0}); }),
                  HasSubstr("no gradients provided for any variable"));
      EXPECT_NO_THROW(model.evaluate(x, y, {.verbose = 0}));
      model.set_trainable(false);  // then nothing is to be trained
      model.compile({.optimizer = "adam", .loss = loss});
      EXPECT_NO_THROW(model.fit(x, y, {.verbose = 0}));
    }
  configure_logical_devices("cpu", 1);
}

/// y (n,) and outputs (n, 3): in Keras each row of y meets a column of the outputs, where there are as many.
TEST(Misuse, RowsBroadcastAgainstColumnsAlikeOnAnyNumberOfDevices) {
  configure_logical_devices("cpu", 3);
  const Tensor x = numbers({9, 4}, 1), y = numbers({9}, 2), x3 = x.rows(0, 3), y3 = y.rows(0, 3);
  double expected = 0.0;
  for (int count = 1; count <= 3; ++count) {
    MirroredStrategyConfig config;
    for (int i = 0; i < count; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const Model model = MirroredStrategy(config).scope(small_net);
    model.compile({.optimizer = "sgd", .loss = "mse"});
    EXPECT_THAT(error_text<ShapeError>([&] { model.fit(x, y, {.batch_size = 9, .verbose = 0}); }),
                HasSubstr("y_true (9,) and y_pred (9, 3)"));
    EXPECT_THROW(model.evaluate(x, y, {.batch_size = 9, .verbose = 0}), ShapeError);
    model.fit(x3, y3, {.batch_size = 3, .epochs = 3, .verbose = 0, .shuffle = false});
    const double loss = model.evaluate(x3, y3, {.batch_size = 3, .verbose = 0})["loss"];
    if (count == 1) expected = loss;
    EXPECT_NEAR(loss, expected, 1e-5 * expected);
  }
  configure_logical_devices("cpu", 1);
}

TEST(Misuse, AnOptimizerOfTwoModelsIsAnError) {
  const Tensor x = numbers({8, 4}, 1), y = numbers({8, 3}, 2);
  const Optimizer shared = Adam(0.05);
  const Model a = small_net(), b = small_net();
  a.compile({.optimizer = shared, .loss = "mse"});
  a.fit(x, y, {.verbose = 0});
  a.compile({.optimizer = shared, .loss = "mae"});  // the same model may go on with it
  a.fit(x, y, {.verbose = 0});
  EXPECT_THAT(error_text<StateError>([&] { b.compile({.optimizer = shared, .loss = "mse"}); }),
              HasSubstr("give every model an optimizer of its own"));
}

TEST(Misuse, AnOptimizerInsideTwoOptimizersOfTwoModelsIsAnError) {
  const Tensor x = numbers({8, 4}, 1), y = numbers({8, 3}, 2);
  const Optimizer shared = Adam(0.05);
  const auto wrapped = [&](bool scaled) -> Optimizer {
    if (scaled) return LossScaleOptimizer(shared);
    return MultiOptimizer([shared](const Variable&) { return shared; });
  };
  const Model a = small_net();
  a.compile({.optimizer = wrapped(true), .loss = "mse"});
  a.fit(x, y, {.verbose = 0});
  a.compile({.optimizer = wrapped(true), .loss = "mae"});  // the same model may go on with it
  a.fit(x, y, {.verbose = 0});
  for (const bool scaled : {false, true})
    EXPECT_THAT(error_text<StateError>([&] {
                  const Model b = small_net();
                  b.compile({.optimizer = wrapped(scaled), .loss = "mse"});
                  b.fit(x, y, {.verbose = 0});
                }),
                HasSubstr("give every model optimizers of its own"));
}

TEST(Misuse, AnOptimizerThatAModelSharesWithItsPartIsNoticedByTheFirst) {
  const Tensor x = numbers({8, 4}, 1), y = numbers({8, 3}, 2);
  const Optimizer shared = SGD(0.05);
  const Tensor input = Input({4});
  const Tensor middle = Dense(5)(input);
  const Model a(input, Dense(3)(middle)), b(input, Dense(3)(middle));
  a.compile({.optimizer = shared, .loss = "mse"});
  b.compile({.optimizer = shared, .loss = "mse"});
  a.fit(x, y, {.verbose = 0});
  b.fit(x, y, {.verbose = 0});
  EXPECT_THAT(error_text<StateError>([&] { a.fit(x, y, {.verbose = 0}); }), HasSubstr("another model"));
}

TEST(Misuse, ALossThatIsNotOfRowsIsAnError) {
  const auto of_classes = [](const Tensor& t, const Tensor& p) { return ops::mean(ops::square(t - p), 0); };
  EXPECT_THAT(error_text<ShapeError>([&] { trained_once(small_net(), Loss(of_classes)); }),
              HasSubstr("for each of the 5 rows or a scalar, their mean, received shape (3,)"));
  trained_once(small_net(), Loss(of_classes, {.rows_are_independent = false}));
}

TEST(Misuse, CosineSimilarityOverRowsSeesThemAll) {
  configure_logical_devices("cpu", 3);
  const Loss loss = CosineSimilarity({.axis = 0});
  const double one = trained_once(small_net(), loss);
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2"}}) {
    const MirroredStrategy strategy({.devices = devices});
    EXPECT_NEAR(trained_once(strategy.scope(small_net), loss), one, 1e-6);
  }
}

TEST(Misuse, AMetricThatIsNotOfRowsIsAnErrorUnderReplicas) {
  configure_logical_devices("cpu", 2);
  const Metric metric([](const Tensor& t, const Tensor& p) { return ops::mean(ops::square(t - p), 0); },
                      "of_classes");
  trained_once(small_net(), "mse", metric);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  EXPECT_THAT(
      error_text<InvalidArgumentError>([&] { trained_once(strategy.scope(small_net), "mse", metric); }),
      ::testing::AllOf(HasSubstr("{.rows_are_independent = false}"), HasSubstr("StatefulMetric")));
}

TEST(Misuse, AMetricOfSeveralValuesHasNoSingleResult) {
  const metrics::F1Score metric;
  metric.update_state(Tensor({{1, 0}, {0, 1}}), Tensor({{0.9F, 0.1F}, {0.8F, 0.2F}}));
  EXPECT_EQ(metric.results().size(), 2u);
  EXPECT_THAT(error_text<StateError>([&] { (void)metric.result(); }), HasSubstr("results()"));
}

TEST(Misuse, ALayerOfOneTensorRefusesSeveral) {
  const Tensor a = Input({4}), b = Input({4});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                Dense(2)(Tensors{a, b});
              }),
              HasSubstr("expected one input tensor, received 2"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                Softmax()(Tensors{a, b});
              }),
              HasSubstr("expected one input tensor, received 2"));
}

TEST(Misuse, NumbersDoNotWrapAroundInSmallTypes) {
  const Tensor truth = Tensor({-1.5F, 0.5F, 2.0F}) > 0.0;
  EXPECT_EQ((truth * 3).to_vector<int32_t>(), (std::vector<int32_t>{0, 3, 3}));
  EXPECT_EQ((1 - truth).to_vector<int32_t>(), (std::vector<int32_t>{1, 0, 0}));
  EXPECT_EQ((truth * 2 - 1).to_vector<int32_t>(), (std::vector<int32_t>{-1, 1, 1}));
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{250, 10});
  EXPECT_EQ((bytes * 2).to_vector<int32_t>(), (std::vector<int32_t>{500, 20}));
  EXPECT_EQ((bytes - 128).to_vector<int32_t>(), (std::vector<int32_t>{122, -118}));
  EXPECT_FLOAT_EQ(((bytes - 127.0) / 128.0).to_vector<float>()[1], -117.0F / 128.0F);
}

TEST(Misuse, AnEmptyFunctionIsNamed) {
  const std::function<Tensor(const Tensor&)> of_one;
  const std::function<Tensors(const Tensors&)> of_many;
  EXPECT_THROW(Lambda{of_one}, InvalidArgumentError);
  EXPECT_THROW(Lambda{of_many}, InvalidArgumentError);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                Dense(2, {.activation = of_one})(Tensor::ones({1, 4}));
              }),
              HasSubstr("an empty one"));
  const std::function<double(int)> schedule;
  EXPECT_THROW(LearningRateScheduler{schedule}, InvalidArgumentError);
  EXPECT_NO_THROW(LearningRateScheduler([](int) { return 0.1; }));
}

/// The first batch had a target for each output, a later one lacks it.
TEST(Misuse, ATargetThatALaterBatchLacksIsNamed) {
  configure_logical_devices("cpu", 2);
  const Tensor x = numbers({4, 4}, 1), y = numbers({4, 1}, 2);
  for (const auto& devices : std::vector<std::vector<std::string>>{{"cpu:0"}, {"cpu:0", "cpu:1"}}) {
    const Model model = MirroredStrategy({.devices = devices}).scope([] {
      const Input input({4});
      return Model(input, {Dense(1, {.name = "a"})(input), Dense(1, {.name = "b"})(input)});
    });
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae", "mae"}});
    model.fit({x}, {y, y}, {.verbose = 0});
    const auto names_it = AllOf(HasSubstr("output 'b'"), HasSubstr("no target"));
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.evaluate({x}, {y}, {.verbose = 0}); }),
                names_it);
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.train_on_batch({.x = {x}, .y = {y}}); }),
                names_it);
    EXPECT_NO_THROW(model.evaluate({x}, {y, y}, {.verbose = 0}));
  }
  configure_logical_devices("cpu", 1);
}

TEST(Misuse, ANameThatIsNotUtf8IsNamed) {
  const Sequential model({Input({4}), Dense(2, {.name = "head\xff"})});
  for (const char* file : {"latin.keras", "latin.h5"})
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.save(::testing::TempDir() + file); }),
                HasSubstr("not UTF-8"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { (void)model.to_json(); }),
              AllOf(HasSubstr("to_json"), HasSubstr("head")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { (void)model.get_config(); }), HasSubstr("not UTF-8"));
}

TEST(Misuse, EndlessValidationDataAsksForItsSteps) {
  const Model model = small_net();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Dataset endless =
      Dataset::from_tensor_slices({numbers({10, 4}, 1), numbers({10, 3}, 2)}).batch(5).repeat();
  EXPECT_THAT(
      error_text<InvalidArgumentError>([&] {
        model.fit(numbers({10, 4}, 1), numbers({10, 3}, 2), {.verbose = 0, .validation_data = endless});
      }),
      AllOf(HasSubstr("fit"), HasSubstr("validation_steps")));
}

/// The masks of Embedding are traced as "not_equal_N": the file's own ops have such names, too.
TEST(Misuse, AFileLoadsHoweverManyModelsThereWereBefore) {
  const Tensor ids = Input({5}, {.dtype = "int32"});
  const Tensor embedded = Embedding(7, 3, {.mask_zero = true})(ids);
  const Tensor kept = ops::cast(ops::not_equal(ids, 0.0), DType::float32);
  const Model model(ids, ops::sum(LSTM(2)(embedded), -1, true) + ops::sum(kept, -1, true));
  const std::string path = ::testing::TempDir() + "names.keras";
  model.save(path);
  const Tensor x = Tensor::from(std::vector<int32_t>{1, 2, 0, 3, 0}, {1, 5});
  const float expected = model.predict(x, {.verbose = 0}).at<float>({0, 0});
  for (int i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ((load_model(path).predict(x, {.verbose = 0}).at<float>({0, 0})), expected) << i;
}

}  // namespace
}  // namespace nyala::misuse_test
