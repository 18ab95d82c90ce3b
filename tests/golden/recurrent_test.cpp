#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/strategies/strategy.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/gradients.h>
#include <nyala/tests/golden/make_layer.h>

namespace nyala::golden::recurrent_test {
namespace {

const Tolerance kValues = {.absolute = 3e-6, .relative = 2e-5};
const Tolerance kGradients = {.absolute = 3e-5, .relative = 5e-5};
constexpr int32_t kFirstInputLeaf = 1000;

Layer build(const std::string& name, const Json& config);

Layer inner(const Json& entry) { return build(entry.at("class").as_string(), entry.at("config")); }

/// The rest of a wrapper's arguments.
template <class W>
W wrapper(const Json& config, typename W::Config values) {
  Json rest = config;
  for (const char* key : {"layer", "backward_layer", "cell", "cells", "merge_mode"}) rest.erase(key);
  JsonFields fields(rest);
  values.fields(fields);
  expect_all_used(fields, rest);
  return W(values);
}

Layer bidirectional(const Json& config) {
  Bidirectional::Config values{.layer = inner(config.at("layer"))};
  if (config.contains("backward_layer")) values.backward_layer = inner(config.at("backward_layer"));
  if (config.contains("merge_mode"))
    values.merge_mode = config.at("merge_mode").is_null() ? "" : config.at("merge_mode").get<std::string>();
  return wrapper<Bidirectional>(config, values);
}

Layer stacked(const Json& config) {
  StackedRNNCells::Config values;
  for (const Json& cell : config.at("cells")) values.cells.push_back(inner(cell));
  return wrapper<StackedRNNCells>(config, values);
}

Layer build(const std::string& name, const Json& config) {
  using Maker = std::function<Layer(const Json&)>;
  static const std::map<std::string, Maker> makers = {
      {"LSTM", from_config<LSTM>},
      {"GRU", from_config<GRU>},
      {"SimpleRNN", from_config<SimpleRNN>},
      {"LSTMCell", from_config<LSTMCell>},
      {"GRUCell", from_config<GRUCell>},
      {"SimpleRNNCell", from_config<SimpleRNNCell>},
      {"ConvLSTM2D", from_config<ConvLSTM2D>},
      {"Embedding", from_config<Embedding>},
      {"Masking", from_config<Masking>},
      {"StackedRNNCells", stacked},
      {"Bidirectional", bidirectional},
      {"RNN", [](const Json& c) { return wrapper<RNN>(c, {.cell = inner(c.at("cell"))}); }},
      {"TimeDistributed",
       [](const Json& c) { return wrapper<TimeDistributed>(c, {.layer = inner(c.at("layer"))}); }},
  };
  const auto found = makers.find(name);
  return found != makers.end() ? found->second(config) : make_layer_of(name, config);
}

struct Run {
  Layer layer;
  Tape tape;
  Tensors inputs;

  Run(const Json& entry) : layer(build(entry.at("name").as_string(), entry.at("config"))) {
    inputs.push_back(tensor(entry.at("input")));
    for (const Json& state : entry.at("states")) inputs.push_back(tensor(state));
    Shapes shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    layer.node().ensure_built(shapes);
    set_weights(entry);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dtype() == DType::float32)
        inputs[i] = tape.watch(inputs[i], kFirstInputLeaf + static_cast<int32_t>(i));
    if (!entry.at("mask").is_null())
      inputs[0] = given_mask(inputs[0], ops::cast(tensor(entry.at("mask")), DType::bool_));
  }

  void set_weights(const Json& entry) {
    const Variables weights = layer.weights();
    ASSERT_EQ(weights.size(), entry.at("weights").size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const std::string path = entry.at("weights").at(i).at("path").as_string();
      EXPECT_EQ(weights[i].name(), path.substr(path.rfind('/') + 1));
      EXPECT_EQ(weights[i].trainable(), entry.at("weights").at(i).at("trainable").get<bool>());
    }
    layer.set_weights(tensors(entry.at("weights")));
  }

  Tensors outputs() {
    CallOptions options;
    options.tape = &tape;
    options.rows = options.global_rows = inputs[0].shape()[0];
    Call call(options);
    if (layer.node().takes_many()) return layer(call, Inputs(inputs));
    return {layer(call, inputs[0])};
  }
};

Tensor weighted(const Tensors& outputs, const Json& upstream) {
  Tensor total;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor part = ops::sum(outputs[i] * tensor(upstream.at(i)));
    total = total.defined() ? total + part : part;
  }
  return total;
}

void check_output_mask(const Json& entry, const Tensor& output) {
  const Tensor mask = mask_of(output);
  ASSERT_EQ(mask.defined(), !entry.at("output_mask").is_null());
  if (mask.defined()) expect_close(ops::cast(mask, DType::int32), entry.at("output_mask"), "mask");
}

void check(const Json& entry) {
  SCOPED_TRACE(label(entry) + (entry.at("mask").is_null() ? "" : " masked"));
  Run run(entry);
  const Tensors outputs = run.outputs();
  ASSERT_EQ(outputs.size(), entry.at("outputs").size());
  for (size_t i = 0; i < outputs.size(); ++i)
    expect_close(outputs[i], entry.at("outputs").at(i), "output " + std::to_string(i), kValues);
  check_output_mask(entry, outputs[0]);
  const Tensor total = weighted(outputs, entry.at("upstream"));
  GradientMap gradients;
  backward(run.tape, total, gradients);
  for (size_t i = 0; i < entry.at("input_gradients").size(); ++i)
    expect_close(gradients.of(kFirstInputLeaf + static_cast<int32_t>(i)), entry.at("input_gradients").at(i),
                 "gradient of input " + std::to_string(i), kGradients);
  const Variables weights = run.layer.trainable_weights();
  ASSERT_EQ(weights.size(), entry.at("weight_gradients").size());
  for (size_t i = 0; i < weights.size(); ++i)
    expect_close(gradients.of(weights[i].node().leaf), entry.at("weight_gradients").at(i),
                 "gradient of " + weights[i].path(), kGradients);
}

void check_class(const std::string& name) {
  const Json golden = load("recurrent.json");
  int count = 0;
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != name) continue;
    check(entry);
    ++count;
  }
  EXPECT_GT(count, 0) << name;
}

TEST(GoldenRecurrent, LSTM) { check_class("LSTM"); }
TEST(GoldenRecurrent, GRU) { check_class("GRU"); }
TEST(GoldenRecurrent, SimpleRNN) { check_class("SimpleRNN"); }
TEST(GoldenRecurrent, Cells) { check_class("RNN"); }
TEST(GoldenRecurrent, Bidirectional) { check_class("Bidirectional"); }
TEST(GoldenRecurrent, TimeDistributed) { check_class("TimeDistributed"); }
TEST(GoldenRecurrent, ConvLSTM2D) { check_class("ConvLSTM2D"); }
TEST(GoldenRecurrent, Embedding) { check_class("Embedding"); }
TEST(GoldenRecurrent, Masking) { check_class("Masking"); }

// ---- models and their files

Model text_model() {
  return Sequential({Input({6}, {.dtype = "int32"}), Embedding(11, 4, {.mask_zero = true}),
                     Bidirectional(LSTM(3, {.return_sequences = true})), GRU(4, {.return_sequences = true}),
                     TimeDistributed(Dense(3, {.activation = "tanh"})), SimpleRNN(3), Dense(1)});
}

Model stacked_model() {
  return Sequential({Input({6, 2}), Masking(),
                     RNN({LSTMCell(3), GRUCell(4), LSTMCell(2)}, {.return_sequences = true}),
                     LSTM(3, {.go_backwards = true}), Dense(1)});
}

Model sequences_model() {
  return Sequential({Input({6}, {.dtype = "int32"}), Embedding(11, 4, {.mask_zero = true}),
                     LSTM(3, {.return_sequences = true}), Dense(1)});
}

void check_model(const std::string& name, const std::function<Model()>& make) {
  const Json golden = load("recurrent.json");
  for (const Json& entry : golden.at("models")) {
    if (entry.at("name") != name) continue;
    clear_session();
    const Model model = make();
    const Tensor x = tensor(entry.at("x"));
    model.load_weights((directory() / (name + ".weights.h5")).string());
    expect_close(model.predict(x, {.verbose = 0}), entry.at("prediction"), "prediction", kValues);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
    for (const Json& step : entry.at("steps")) {
      const Logs logs = model.train_on_batch(Batch{{x}, {tensor(entry.at("y"))}, {}});
      EXPECT_NEAR(logs["loss"], step.at("loss").get<double>(), 2e-5) << "loss";
      EXPECT_NEAR(logs["mae"], step.at("mae").get<double>(), 2e-5) << "mae";
    }
    const Variables weights = model.weights();
    ASSERT_EQ(weights.size(), entry.at("weights").size());
    for (size_t i = 0; i < weights.size(); ++i)
      expect_close(weights[i].value(), entry.at("weights").at(i), weights[i].path(), kGradients);
    expect_close(model.predict(x, {.verbose = 0}), entry.at("prediction_after"), "prediction after",
                 kGradients);
    return;
  }
  FAIL() << "no model " << name;
}

TEST(GoldenRecurrent, TextModelFromItsFile) { check_model("recurrent_text", text_model); }
TEST(GoldenRecurrent, StackedCellsFromTheirFile) { check_model("recurrent_stacked", stacked_model); }
TEST(GoldenRecurrent, MaskedLoss) { check_model("recurrent_sequences", sequences_model); }

}  // namespace
}  // namespace nyala::golden::recurrent_test
