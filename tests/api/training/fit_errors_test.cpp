#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala::fit_errors_test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Tensor kX = counting(10), kY = counting(10, 2.0);

Sequential bare() {
  clear_session();
  return Sequential({Input({1}), Dense(1)}, {.name = "bare"});
}

Sequential classifier(int64_t classes = 3) {
  clear_session();
  Sequential net({Input({1}), Dense(classes)}, {.name = "classifier"});
  net.compile({.optimizer = "sgd",
               .loss = SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
  return net;
}

FitConfig silent() { return {.verbose = 0}; }

TEST(FitErrorsTest, CompileComesFirst) {
  const Sequential net = bare();
  EXPECT_THAT(error_text<StateError>([&] { net.fit(kX, kY, silent()); }),
              AllOf(HasSubstr("'bare'"), HasSubstr("compile()"), HasSubstr("fit")));
  EXPECT_THAT(error_text<StateError>([&] { net.evaluate(kX, kY); }), HasSubstr("compile()"));
  EXPECT_THAT(error_text<StateError>([&] { net.train_on_batch(kX, kY); }), HasSubstr("compile()"));
  EXPECT_THAT(error_text<StateError>([&] { net.test_on_batch(kX, kY); }), HasSubstr("compile()"));
  EXPECT_THAT(error_text<StateError>([&] { net.optimizer(); }), HasSubstr("compile()"));
  EXPECT_NO_THROW(net.predict(kX, {.verbose = 0}));  // needs no compile
}

TEST(FitErrorsTest, UnknownNamesSuggestTheNearest) {
  const Sequential net = bare();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.compile({.optimizer = "adan", .loss = "mse"}); }),
              AllOf(HasSubstr("'adan'"), HasSubstr("did you mean 'adam'")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.compile({.loss = "mean_square_error"}); }),
              HasSubstr("did you mean 'mean_squared_error'"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.compile({.loss = "mse", .metrics = {"acuracy"}}); }),
              HasSubstr("did you mean 'accuracy'"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { Dense(3, {.activation = "rellu"}); }),
              HasSubstr("did you mean 'relu'"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { Dense(3, {.kernel_initializer = "glorot_unifrom"}); }),
              HasSubstr("did you mean 'glorot_uniform'"));
  EXPECT_FALSE(net.compiled());
}

TEST(FitErrorsTest, ALossIsNeeded) {
  const Sequential net = bare();
  net.compile({.optimizer = "sgd"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(kX, kY, silent()); }), HasSubstr("loss"));
}

TEST(FitErrorsTest, NamesOfOutputsThatDoNotExist) {
  const Tensor x = Input({1}, {.name = "x"});
  const Tensor a = Dense(1, {.name = "left"})(x), b = Dense(1, {.name = "right"})(x);
  const Model model({.inputs = {x}, .outputs = {a, b}});
  model.compile({.optimizer = "sgd", .loss = {{"left", Loss("mse")}, {"rihgt", Loss("mae")}}});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(Tensors{kX}, Tensors{kY, kY}, silent());
              }),
              AllOf(HasSubstr("'rihgt'"), HasSubstr("did you mean 'right'"), HasSubstr("'left'")));
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics_by_output = {{"top", {"mae"}}}});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(Tensors{kX}, Tensors{kY, kY}, silent());
              }),
              HasSubstr("'top'"));
  model.compile({.optimizer = "sgd", .loss = {"mse", "mse", "mse"}});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(Tensors{kX}, Tensors{kY, kY}, silent());
              }),
              AllOf(HasSubstr("2"), HasSubstr("3")));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(Tensors{kX}, Tensors{kY}, silent()); }),
              AllOf(HasSubstr("'right'"), HasSubstr("target")));
}

TEST(FitErrorsTest, MissingTargets) {
  const Sequential net = still_line();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(kX, Tensor(), silent()); }),
              HasSubstr("target"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.evaluate(kX, Tensor(), {.verbose = 0}); }),
              HasSubstr("target"));
}

TEST(FitErrorsTest, LengthsThatDiffer) {
  const Sequential net = still_line();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(kX, counting(9), silent()); }),
              AllOf(HasSubstr("10"), HasSubstr("9")));
  FitConfig config = silent();
  config.sample_weight = Tensor::zeros({11});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(kX, kY, config); }),
              AllOf(HasSubstr("10"), HasSubstr("11")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.train_on_batch(kX, counting(9)); }),
              AllOf(HasSubstr("10"), HasSubstr("9")));
  EXPECT_THROW(net.fit(Tensor::scalar(1.0f), kY, silent()), ShapeError);
}

TEST(FitErrorsTest, EmptyData) {
  const Sequential net = still_line();
  const Tensor nothing = Tensor::zeros({0, 1});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(nothing, nothing, silent()); }),
              AllOf(HasSubstr("fit"), HasSubstr("no rows")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.evaluate(nothing, nothing, {.verbose = 0}); }),
              AllOf(HasSubstr("evaluate"), HasSubstr("no rows")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.predict(nothing, {.verbose = 0}); }),
              AllOf(HasSubstr("predict"), HasSubstr("no rows")));
  const Dataset none = Dataset::from_tensor_slices(kX, kY).take(0).batch(4);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.fit(none, silent()); }), HasSubstr("fit"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.evaluate(none, {.verbose = 0}); }),
              HasSubstr("evaluate"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { net.predict(none, {.verbose = 0}); }),
              HasSubstr("predict"));
}

TEST(FitErrorsTest, ArgumentsOfFit) {
  const Sequential net = still_line();
  const auto fails = [&](const FitConfig& config) {
    return error_text<InvalidArgumentError>([&] { net.fit(kX, kY, config); });
  };
  EXPECT_THAT(fails({.batch_size = -1, .verbose = 0}), HasSubstr("batch_size"));
  EXPECT_THAT(fails({.verbose = 0, .validation_split = 1.0}), HasSubstr("validation_split"));
  EXPECT_THAT(fails({.verbose = 0, .validation_split = -0.1}), HasSubstr("validation_split"));
  EXPECT_THAT(fails({.verbose = 0, .validation_split = 0.99}), HasSubstr("10 rows"));
  EXPECT_THAT(fails({.verbose = 0, .class_weight = {{0, 1.0}}, .sample_weight = Tensor::zeros({10})}),
              AllOf(HasSubstr("class_weight"), HasSubstr("sample_weight")));
  EXPECT_THROW(net.compile({.loss = "mse", .steps_per_execution = 0}), InvalidArgumentError);
}

TEST(FitErrorsTest, ArgumentsThatDatasetsDoNotTake) {
  const Sequential net = still_line();
  const Dataset rows = Dataset::from_tensor_slices(kX, kY), batches = rows.batch(4);
  const auto fails = [&](const Dataset& data, const FitConfig& config) {
    return error_text<InvalidArgumentError>([&] { net.fit(data, config); });
  };
  EXPECT_THAT(fails(batches, {.batch_size = 4, .verbose = 0}), HasSubstr("batch_size"));
  EXPECT_THAT(fails(rows, {.verbose = 0}), HasSubstr(".batch(n)"));
  EXPECT_THAT(fails(batches, {.verbose = 0, .validation_split = 0.5}), HasSubstr("validation_split"));
  EXPECT_THAT(fails(batches, {.verbose = 0, .sample_weight = Tensor::zeros({10})}),
              HasSubstr("sample_weight"));
  EXPECT_THAT(fails(batches.repeat(), {.verbose = 0}), HasSubstr("steps"));
  EXPECT_NO_THROW(net.fit(batches.repeat(), {.verbose = 0, .steps_per_epoch = 4}));
}

TEST(FitErrorsTest, AWrongShapeNamesModelExpectedAndReceived) {
  const Sequential net = still_line();
  EXPECT_THAT(error_text<ShapeError>([&] {
                net.fit(Tensor::zeros({10, 3}), kY, silent());
              }),
              AllOf(HasSubstr("'line'"), HasSubstr("(None, 1)"), HasSubstr("3)")));
  EXPECT_THROW(net.fit(kX, Tensor::zeros({10, 3, 2}), silent()), InvalidArgumentError);
}

TEST(FitErrorsTest, LabelsOutOfRangeNameRowAndRange) {
  for (int64_t bad : {3, -1, 1000}) {
    const Sequential net = classifier();
    std::vector<int64_t> labels(10, 1);
    labels[7] = bad;
    const auto fails = [&] { net.fit(kX, Tensor::from(labels), silent()); };
    EXPECT_THAT(error_text<NumericError>(fails),
                AllOf(HasSubstr("'classifier'"), HasSubstr(std::to_string(bad)), HasSubstr("[0, 3)")));
    labels[7] = 2;
    EXPECT_NO_THROW(net.evaluate(kX, Tensor::from(labels), {.verbose = 0}));  // the trouble is not remembered
  }
}

TEST(FitErrorsTest, LabelsOutOfRangeInSingleSteps) {
  const Sequential net = classifier();
  const Tensor x = counting(2), y = Tensor::from(std::vector<int64_t>{1, 5});
  EXPECT_THROW(net.train_on_batch(x, y)["loss"], NumericError);
  EXPECT_THROW(net.test_on_batch(x, y)["loss"], NumericError);
  EXPECT_THROW(net.evaluate(x, y, {.verbose = 0}), NumericError);
}

TEST(FitErrorsTest, OneHotAndSparseLabelsMixedUp) {
  const Sequential net = classifier();
  EXPECT_THROW(net.fit(kX, Tensor::zeros({10, 3}), silent()), InvalidArgumentError);
  net.compile({.optimizer = "sgd", .loss = CategoricalCrossentropy({.from_logits = true})});
  EXPECT_THROW(net.fit(kX, Tensor::zeros({10, 1}), silent()), InvalidArgumentError);
}

/// An error in the middle of training leaves a model that can go on.
TEST(FitErrorsTest, TheModelStaysUsable) {
  configure_logical_devices("cpu", 3);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  const Model net = strategy.scope([] { return still_line(); });
  for (int round = 0; round < 3; ++round) {
    LambdaCallback fails({.on_train_batch_end = [](int64_t batch, Logs&) {
      if (batch == 1) throw std::runtime_error("a user's error");
    }});
    EXPECT_THROW(net.fit(kX, kY, {.batch_size = 4, .verbose = 0, .callbacks = {fails}}), std::runtime_error);
    EXPECT_THROW(net.fit(Tensor::zeros({4, 7}), Tensor::zeros({4, 1}), silent()), ShapeError);
    EXPECT_THROW(net.fit(kX, Tensor::zeros({10, 3, 2}), silent()), InvalidArgumentError);
    EXPECT_NEAR(net.fit(kX, kY, silent())["loss"].at(0), 28.5, 1e-5);
  }
  configure_logical_devices("cpu", 1);
}

TEST(FitErrorsTest, ANaNLossWarnsOnce) {
  int warnings = 0;
  set_log_sink([&](LogChannel channel, std::string_view text) {
    warnings += channel == LogChannel::warning && text.find("NaN") != std::string_view::npos;
  });
  const Sequential net = still_line();
  const Tensor bad = Tensor::full({10, 1}, std::numeric_limits<double>::quiet_NaN());
  const History history = net.fit(bad, kY, {.epochs = 3, .verbose = 0});
  net.fit(bad, kY, silent());
  set_log_sink({});
  EXPECT_TRUE(std::isnan(history["loss"].back()));
  EXPECT_EQ(history["loss"].size(), 3u);
  EXPECT_EQ(warnings, 1);
}

TEST(FitErrorsTest, TerminateOnNaNStops) {
  const Sequential net = still_line();
  const Tensor bad = Tensor::full({10, 1}, std::numeric_limits<double>::infinity());
  Recorder recorder;
  net.fit(bad, kY, {.batch_size = 2, .epochs = 3, .verbose = 0, .callbacks = {recorder, TerminateOnNaN()}});
  EXPECT_EQ(recorder.with("batch_end").size(), 1u);
}

TEST(FitErrorsTest, DevicesThatDoNotExist) {
  EXPECT_THAT(error_text<DeviceNotFoundError>([] { MirroredStrategy({.devices = {"gpu:0"}}); }),
              HasSubstr("cpu:0"));
  EXPECT_THAT(error_text<DeviceNotFoundError>([] { (void)device("cpu:44"); }), HasSubstr("cpu:44"));
}

/// A model of one strategy with a layer of another would read memory that its replicas do not have.
TEST(FitErrorsTest, LayersOfAnotherStrategy) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Tensor x = Input({1});
  const Tensor y = Dense(1, {.name = "outside"})(x);
  const Model inside = strategy.scope([&] { return Model(x, y, {.name = "inside"}); });
  const auto says = AllOf(HasSubstr("'inside'"), HasSubstr("MirroredStrategy"), HasSubstr("outside/kernel"));
  EXPECT_THAT(error_text<StateError>([&] { inside.compile({.optimizer = "sgd", .loss = "mse"}); }), says);
  EXPECT_THAT(error_text<StateError>([&] { inside.predict(kX, {.verbose = 0}); }), says);
  const Tensor z = strategy.scope([&] { return Dense(1)(x); });
  const Model outside(x, z);
  EXPECT_THROW(outside.predict(kX, {.verbose = 0}), StateError);
  configure_logical_devices("cpu", 1);
}

TEST(FitErrorsTest, SymbolicTensorsAreNoData) {
  const Sequential net = still_line();
  const Tensor x = Input({1});
  EXPECT_THROW(net.fit(x, kY, silent()), Error);
  EXPECT_THROW(net.predict(x, {.verbose = 0}), Error);
}

}  // namespace

}  // namespace nyala::fit_errors_test
