#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::output_weights_test {

namespace {

using ::testing::HasSubstr;

Tensor column(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size()), 1});
}

/// Two outputs, x and 2x, that do not learn.
Model two_outputs() {
  clear_session();
  const Tensor x = Input({1});
  const auto line = [](double slope, const char* name) {
    return Dense(1, {.use_bias = false, .kernel_initializer = Constant(slope), .name = name});
  };
  const Model model({.inputs = {x}, .outputs = {line(1, "once")(x), line(2, "twice")(x)}});
  model.compile({.optimizer = SGD(0.0), .loss = "mse", .weighted_metrics_by_output = {{"twice", {"mae"}}}});
  return model;
}

class OutputWeights : public ::testing::Test {
 protected:
  const Tensors x{column({1, 2, 3, 4})}, y{column({0, 0, 0, 0}), column({0, 0, 0, 0})};
  const Tensor a{1, 0, 0, 1}, b{0, 2, 0, 0};
};

TEST_F(OutputWeights, OnePerOutput) {
  const Model model = two_outputs();
  const Logs logs = model.evaluate(x, y, {.batch_size = 2, .verbose = 0, .sample_weight = {a, b}});
  EXPECT_DOUBLE_EQ(logs["once_loss"], (1 + 16) / 4.0);
  EXPECT_DOUBLE_EQ(logs["twice_loss"], 2 * 16 / 4.0);
  EXPECT_DOUBLE_EQ(logs["twice_mae"], 4.0);  // the mean by weight
}

/// Keras: "y_true and y_pred have different structures".
TEST_F(OutputWeights, TooManyTargetsOrWeightsAreErrors) {
  configure_logical_devices("cpu", 2);
  for (const bool two_devices : {false, true}) {
    const Model model =
        two_devices ? MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}).scope(two_outputs) : two_outputs();
    const Tensors three{y[0], y[1], y[0]};
    const auto expect_refused = [](const std::function<void()>& call, const char* counts) {
      EXPECT_THAT(error_text<InvalidArgumentError>(call), HasSubstr(counts));
    };
    const char* const targets = "each of its 2 output(s), the batch has 3 and 0";
    expect_refused([&] { model.fit(x, three, {.verbose = 0}); }, targets);
    expect_refused([&] { model.evaluate(x, three, {.verbose = 0}); }, targets);
    expect_refused(
        [&] { model.fit(Dataset::from_tensor_slices(Element{.x = x, .y = three}).batch(2), {.verbose = 0}); },
        targets);
    const Element weighed{.x = x, .y = y, .sample_weight = Tensors{a, b, a}};
    expect_refused([&] { model.fit(Dataset::from_tensor_slices(weighed).batch(2), {.verbose = 0}); },
                   "each of its 2 output(s), the batch has 2 and 3");
    model.fit(x, y, {.verbose = 0, .sample_weight = {a, b}});
    const Sequential single({Input({1}), Dense(1)});
    single.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    expect_refused([&] { single.fit(x, y, {.verbose = 0}); },
                   "each of its 1 output(s), the batch has 2 and 0");
  }
  configure_logical_devices("cpu", 1);
}

TEST_F(OutputWeights, ByName) {
  const Model model = two_outputs();
  const History history = model.fit(x, y, {.batch_size = 2, .verbose = 0, .sample_weight = {{"twice", b}}});
  EXPECT_DOUBLE_EQ(history["once_loss"][0], (1 + 4 + 9 + 16) / 4.0);
  EXPECT_DOUBLE_EQ(history["twice_loss"][0], 8.0);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(x, y, {.verbose = 0, .sample_weight = {{"twise", b}}});
              }),
              HasSubstr("'twice'"));
}

TEST_F(OutputWeights, OneForAll) {
  const Model model = two_outputs();
  const Logs logs = model.evaluate(x, y, {.batch_size = 2, .verbose = 0, .sample_weight = a});
  EXPECT_DOUBLE_EQ(logs["once_loss"], 17 / 4.0);
  EXPECT_DOUBLE_EQ(logs["twice_loss"], 4 * 17 / 4.0);
}

TEST_F(OutputWeights, TheirNumberIsThatOfTheTargets) {
  const Model model = two_outputs();
  EXPECT_THROW(model.evaluate(x, y, {.verbose = 0, .sample_weight = {a, b, a}}), InvalidArgumentError);
}

TEST_F(OutputWeights, ADatasetBringsItsOwn) {
  configure_logical_devices("cpu", 2);
  const Model model = MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}).scope(two_outputs);
  const Dataset data =
      Dataset::from_tensor_slices(Element{.x = x, .y = y, .sample_weight = Tensors{a, Tensor()}}).batch(3);
  const Logs logs = model.evaluate(data, {.verbose = 0});
  EXPECT_DOUBLE_EQ(logs["once_loss"], 17 / 4.0);
  EXPECT_DOUBLE_EQ(logs["twice_loss"], 4 * 30 / 4.0);
  configure_logical_devices("cpu", 1);
}

TEST_F(OutputWeights, NotWithClassWeights) {
  const Model model = two_outputs();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(x, y, {.verbose = 0, .class_weight = {{0, 2.0}}});
              }),
              HasSubstr("one target"));
}

}  // namespace

}  // namespace nyala::output_weights_test
