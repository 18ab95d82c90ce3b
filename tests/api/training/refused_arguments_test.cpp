#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;

class RefusedArguments : public testing::Test {
 protected:
  RefusedArguments() { model_.compile({.optimizer = "sgd", .loss = "mse"}); }
  std::string of_fit(FitConfig config) const {
    config.verbose = 0;
    return error_text<InvalidArgumentError>([&] { model_.fit(x_, y_, config); });
  }
  const Sequential model_{{Input({2}), Dense(1)}};
  const Tensor x_ = ops::ones({6, 2}), y_ = ops::ones({6, 1});
};

/// Keras raises for all of them.
TEST_F(RefusedArguments, NumbersOfFit) {
  for (const double split : {std::nan(""), std::numeric_limits<double>::infinity(), -0.1, 1.0})
    EXPECT_THAT(of_fit({.validation_split = split}), HasSubstr("expected validation_split in [0, 1)"));
  EXPECT_THAT(of_fit({.steps_per_epoch = -1}), HasSubstr("number of steps of at least 0, received -1"));
  EXPECT_THAT(of_fit({.validation_steps = -1}), HasSubstr("expected validation_steps >= 0, received -1"));
  EXPECT_THAT(of_fit({.validation_freq = 0}), HasSubstr("expected validation_freq >= 1, received 0"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.evaluate(x_, y_, {.verbose = 0, .steps = -1}); }),
              HasSubstr("received -1"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.predict(x_, {.verbose = 0, .steps = -1}); }),
              HasSubstr("received -1"));
}

TEST_F(RefusedArguments, SymbolicData) {
  const Tensor input = Input({2});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.predict(input); }),
              HasSubstr("expected tensors with values"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.predict_on_batch(input); }),
              HasSubstr("expected tensors with values"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.train_on_batch(x_, Input({1})); }),
              HasSubstr("expected tensors with values"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model_.fit(input, y_, {.verbose = 0}); }),
              HasSubstr("expected tensors with values"));
}

TEST_F(RefusedArguments, WeightsOfDevicesOfAnySizeCutRows) {
  configure_logical_devices("cpu", 2);
  const Tensor x = ops::reshape(ops::cast(ops::arange(12), DType::float32), {6, 2}) * 0.1f;
  const auto trained = [&](const Strategy& strategy) {
    set_random_seed(1);
    return strategy.scope([&] {
      const Sequential model({Input({2}), Dense(1)});
      model.compile({.optimizer = "sgd", .loss = "mse"});
      model.fit(x, y_, {.verbose = 0, .shuffle = false});
      return model.get_weights()[0].to_vector<float>();
    });
  };
  const std::vector<float> expected = trained(OneDeviceStrategy("cpu:0"));
  for (const double weight : {1e308, 2.3e-308}) {
    const auto received =
        trained(MirroredStrategy({.devices = {"cpu:0", "cpu:1"}, .device_weights = {weight, weight}}));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(received[i], expected[i], 1e-5) << weight;
  }
}

TEST_F(RefusedArguments, SubnormalWeightsOfDevices) {
  configure_logical_devices("cpu", 2);
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                MirroredStrategy({.devices = {"cpu:0", "cpu:1"}, .device_weights = {5e-324, 5e-324}});
              }),
              HasSubstr("must be a positive number"));
}

TEST_F(RefusedArguments, MoreRowsThanCanBeCounted) {
  const Dataset ten = Dataset::from_tensor_slices(ops::ones({10, 1}));
  EXPECT_EQ(ten.repeat(std::numeric_limits<int64_t>::max()).cardinality(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ten.repeat(3).cardinality(), 30);
}

}  // namespace
}  // namespace nyala
