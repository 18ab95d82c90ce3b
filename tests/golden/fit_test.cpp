#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/all.h>
#include <nyala/tests/golden/run_fit.h>

namespace nyala::golden {
namespace {

Json fit_case(const std::string& name) {
  const Json golden = load("fit.json");
  for (const Json& entry : golden.at("cases"))
    if (entry.at("name") == name) return entry;
  throw std::runtime_error("golden data: no case " + name);
}

/// The trainings that need no callback, one test for each.
class GoldenFit : public testing::TestWithParam<std::string> {};

TEST_P(GoldenFit, HistoryWeightsAndStateAreThoseOfKeras) { check_fit(fit_case(GetParam()), {}); }

INSTANTIATE_TEST_SUITE_P(Cases, GoldenFit,
                         testing::Values("mlp_adam_sample_weight", "conv_bn_sgd_momentum", "lenet_adam",
                                         "l2_clipnorm", "class_weight", "class_weight_one_hot",
                                         "accumulation_schedule", "steps_per_execution", "ema_cosine",
                                         "ema_overwrite", "constraints_validation_split", "rmsprop_default",
                                         "frozen_weight_decay", "label_smoothing_clipvalue", "sum_reduction",
                                         "residual_zero_padding", "two_outputs_lists", "two_outputs_maps",
                                         "two_outputs_sample_weight", "shared_and_nested"),
                         [](const auto& test) { return test.param; });

TEST(GoldenFitCases, EveryCaseIsATest) {
  const std::set<std::string> with_callbacks = {"learning_rate_scheduler", "reduce_on_plateau",
                                                "early_stopping_restores"};
  const Json golden = load("fit.json");
  size_t without = 0;
  for (const Json& entry : golden.at("cases")) {
    EXPECT_EQ(with_callbacks.contains(entry.at("name").as_string()), entry.at("fit").contains("callbacks"))
        << entry.at("name");
    without += entry.at("fit").contains("callbacks") ? 0 : 1;
  }
  EXPECT_EQ(without, 20u);
}

TEST(GoldenFitCases, LearningRateScheduler) {
  check_fit(fit_case("learning_rate_scheduler"),
            {LearningRateScheduler([](int epoch, double rate) { return epoch > 0 ? rate * 0.5 : rate; })});
}

TEST(GoldenFitCases, ReduceLROnPlateau) {
  const Json entry = fit_case("reduce_on_plateau");
  const Json& config = entry.at("fit").at("callbacks").at(0).at("config");
  check_fit(entry, {ReduceLROnPlateau({.factor = config.at("factor").get<double>(),
                                       .patience = config.at("patience").get<int>(),
                                       .min_delta = config.at("min_delta").get<double>(),
                                       .cooldown = config.at("cooldown").get<int>(),
                                       .min_lr = config.at("min_lr").get<double>()})});
}

TEST(GoldenFitCases, EarlyStoppingRestoresTheBestWeights) {
  const Json entry = fit_case("early_stopping_restores");
  const Json& config = entry.at("fit").at("callbacks").at(0).at("config");
  check_fit(entry, {EarlyStopping({.monitor = config.at("monitor").as_string(),
                                   .patience = config.at("patience").get<int>(),
                                   .restore_best_weights = config.at("restore_best_weights").get<bool>()})});
}

TEST(GoldenFitCases, TrainTestAndPredictOnBatch) {
  const Json golden = load("fit.json");
  const Json& entry = golden.at("on_batch");
  const Model model = make_model_of(entry.at("model"));
  set_initial_weights(model, entry.at("initial_weights"));
  model.compile(make_compile_config(entry.at("compile"), entry.at("model")));
  for (const Json& step : entry.at("steps")) {
    const Tensor x = tensor(step.at("x")), y = tensor(step.at("y"));
    expect_logs(model.train_on_batch(x, y, tensor(step.at("sample_weight"))), step.at("train"),
                "train_on_batch");
    expect_logs(model.test_on_batch(x, y), step.at("test"), "test_on_batch");
    expect_close(model.predict_on_batch(x), step.at("predict"), "predict_on_batch", kFitTolerance);
    expect_weights(model, step.at("weights"), "after train_on_batch", kFitTolerance);
  }
}

}  // namespace
}  // namespace nyala::golden
