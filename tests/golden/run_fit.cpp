#include <map>

#include <gtest/gtest.h>

#include <nyala/tests/golden/run_fit.h>

namespace nyala::golden {
namespace {

FitConfig make_fit_config(const Json& arguments) {
  FitConfig config;
  config.batch_size = arguments.value("batch_size", int64_t{0});
  config.epochs = arguments.value("epochs", 1);
  config.initial_epoch = arguments.value("initial_epoch", 0);
  config.validation_split = arguments.value("validation_split", 0.0);
  config.validation_freq = arguments.value("validation_freq", 1);
  config.verbose = 0;
  config.shuffle = false;
  if (arguments.contains("validation_data")) {
    const Json& data = arguments.at("validation_data");
    config.validation_data = DataArgument(tensors(data.at("x")), tensors(data.at("y")));
  }
  if (arguments.contains("sample_weight")) config.sample_weight = tensor(arguments.at("sample_weight").at(0));
  if (arguments.contains("class_weight"))
    for (const auto& [label, weight] : arguments.at("class_weight").items())
      config.class_weight[std::stoll(label)] = weight.get<double>();
  return config;
}

void expect_history(const History& history, const Json& entry, const std::string& what) {
  EXPECT_EQ(history.epoch(), entry.at("epochs").get<std::vector<int>>()) << what;
  const Json& expected = entry.at("history");
  ASSERT_EQ(history.history().size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, values] = history.history()[i];
    EXPECT_EQ(name, expected.at(i).at(0).get<std::string>()) << what << ", entry " << i;
    const std::vector<double> want = numbers(expected.at(i).at(1));
    ASSERT_EQ(values.size(), want.size()) << what << " " << name;
    for (size_t epoch = 0; epoch < want.size(); ++epoch)
      expect_close(values[epoch], want[epoch], what + " " + name + ", epoch " + std::to_string(epoch),
                   kFitTolerance);
  }
}

void expect_outputs(const Model& model, const Tensors& x, const Json& expected, const std::string& what) {
  const Tensors predicted = model.predict_all(x, {.batch_size = 8, .verbose = 0});
  ASSERT_EQ(predicted.size(), expected.size()) << what;
  for (size_t i = 0; i < predicted.size(); ++i)
    expect_close(predicted[i], expected.at(i), what + " predict, output " + std::to_string(i), kFitTolerance);
}

}  // namespace

void expect_logs(const Logs& got, const Json& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  std::map<std::string, double> sorted;  // by name, as Keras' logs are
  for (const auto& [name, value] : expected.items()) sorted[name] = number(value);
  auto entry = sorted.begin();
  for (const auto& [name, value] : got) {
    EXPECT_EQ(name, entry->first) << what;
    expect_close(value, entry->second, what + " " + name, kFitTolerance);
    ++entry;
  }
}

void check_fit(const Json& entry, std::vector<CallbackArgument> callbacks) {
  const std::string what = entry.at("name").as_string();
  const Tensors x = tensors(entry.at("x")), y = tensors(entry.at("y"));
  const Model model = make_model_of(entry.at("model"));
  set_initial_weights(model, entry.at("initial_weights"));
  model.compile(make_compile_config(entry.at("compile"), entry.at("model")));
  FitConfig config = make_fit_config(entry.at("fit"));
  config.callbacks = std::move(callbacks);
  expect_history(model.fit(x, y, config), entry, what);
  expect_weights(model, entry.at("weights"), what, kFitTolerance);
  expect_optimizer_state(model.optimizer(), entry.at("optimizer_variables"), what, kFitTolerance);
  expect_outputs(model, x, entry.at("predict"), what);
  expect_logs(model.evaluate(x, y, {.batch_size = 8, .verbose = 0}), entry.at("evaluate"),
              what + " evaluate");
}

}  // namespace nyala::golden
