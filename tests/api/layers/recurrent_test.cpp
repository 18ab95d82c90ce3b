#include <map>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/api/field_printer.h>

namespace nyala::recurrent_test {

using namespace nyala::detail;
namespace {

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.normal());
  return Tensor::from(values, shape);
}

Tensor flags(const std::vector<int32_t>& values, const Shape& shape) {
  return ops::cast(Tensor::from(values, shape), DType::bool_);
}

void expect_near(const Tensor& a, const Tensor& b, float tolerance = 1e-6f) {
  ASSERT_EQ(a.shape(), b.shape());
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << i;
}

std::vector<std::string> paths(const Layer& layer) {
  std::vector<std::string> out;
  for (const Variable& weight : layer.weights()) out.push_back(weight.path());
  return out;
}

TEST(Recurrent, NamesItsVariablesAsKeras) {
  clear_session();
  const LSTM lstm(3);
  lstm(numbers({1, 2, 4}));
  EXPECT_EQ(paths(lstm), (std::vector<std::string>{"lstm/lstm_cell/kernel", "lstm/lstm_cell/recurrent_kernel",
                                                   "lstm/lstm_cell/bias"}));
  const Bidirectional both(GRU(2));
  both(numbers({1, 2, 4}));
  EXPECT_EQ(paths(both).front(), "bidirectional/forward_gru/gru_cell/kernel");
  EXPECT_EQ(paths(both).back(), "bidirectional/backward_gru/gru_cell/bias");
  EXPECT_EQ(both.count_params(), 2 * (4 * 6 + 2 * 6 + 12));
}

std::map<std::string, std::string> printed(const Layer& layer) {
  FieldPrinter printer;
  layer.node().fields(printer);
  return {printer.fields().begin(), printer.fields().end()};
}

template <class Config>
Config with_other_settings() {
  Config config;
  config.units = 3;
  config.activation = "relu";
  config.use_bias = false;
  config.kernel_initializer = "he_normal";
  config.recurrent_initializer = "zeros";
  config.bias_initializer = "ones";
  config.kernel_regularizer = "l1";
  config.recurrent_regularizer = "l2";
  config.bias_regularizer = "l1_l2";
  config.kernel_constraint = "non_neg";
  config.recurrent_constraint = "max_norm";
  config.bias_constraint = "unit_norm";
  config.dropout = 0.25;
  config.recurrent_dropout = 0.125;
  config.seed = 7;
  config.return_sequences = config.return_state = config.go_backwards = config.unroll = true;
  config.activity_regularizer = "l2";
  config.trainable = false;
  config.dtype = "float64";
  return config;
}

TEST(Recurrent, TheCellHasEverySettingOfItsLayer) {
  LSTMConfig lstm = with_other_settings<LSTMConfig>();
  lstm.recurrent_activation = "tanh";
  lstm.unit_forget_bias = false;
  GRUConfig gru = with_other_settings<GRUConfig>();
  gru.recurrent_activation = "tanh";
  gru.reset_after = false;
  const std::vector<std::pair<Layer, Layer>> layers{
      {LSTM(lstm), LSTMCell(1)},
      {GRU(gru), GRUCell(1)},
      {SimpleRNN(with_other_settings<SimpleRNNConfig>()), SimpleRNNCell(1)}};
  for (const auto& [layer, other] : layers) {
    const Layer cell = layer.node().sublayers()[0].second;
    const auto outer = printed(layer), inner = printed(cell), plain = printed(other);
    EXPECT_EQ(inner.size(), plain.size());
    for (const auto& [name, value] : inner) {
      EXPECT_EQ(value, outer.at(name)) << name;
      EXPECT_NE(value, plain.at(name)) << name << " is no other setting than the default";
    }
    EXPECT_FALSE(cell.trainable());
    EXPECT_EQ(cell.node().dtype(), DType::float64);
  }
}

/// Bidirectional makes its layers again, of which only what it decides is another.
TEST(Recurrent, ALayerMadeAgainHasEverySetting) {
  LSTMConfig config = with_other_settings<LSTMConfig>();
  config.go_backwards = false;
  const LSTM lstm(config);
  const RNN rnn(LSTMCell(2, {.dropout = 0.5}), {.return_state = true, .stateful = true, .unroll = true});
  for (const Layer& layer : {Layer(lstm), Layer(rnn)}) {
    const Bidirectional both(layer);
    auto expected = printed(layer), forward = printed(both.node().sublayers()[0].second);
    expected["zero_output_for_mask"] = expected["return_sequences"];
    EXPECT_EQ(forward, expected);
    EXPECT_EQ(forward.size(), layer.class_name() == "RNN" ? 6u : 24u);
  }
}

TEST(Recurrent, TheForgetGateBeginsOpen) {
  const LSTM lstm(2), plain(2, {.unit_forget_bias = false});
  for (const Layer& layer : {Layer(lstm), Layer(plain)}) layer(numbers({1, 1, 1}));
  EXPECT_EQ(lstm.weights()[2].value().to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(plain.weights()[2].value().to_vector<float>(), std::vector<float>(8, 0.0f));
}

TEST(Recurrent, ReturnsWhatItIsAskedFor) {
  const Tensor x = numbers({2, 5, 3});
  EXPECT_EQ(LSTM(4)(x).shape(), (Shape{2, 4}));
  EXPECT_EQ(LSTM(4, {.return_sequences = true})(x).shape(), (Shape{2, 5, 4}));
  const Outputs all = LSTM(4, {.return_sequences = true, .return_state = true}).call_all({x});
  ASSERT_EQ(all.size(), 3u);
  expect_near(ops::slice_axis(all[0], 1, {.start = 4, .stop = 5}).with_shape({2, 4}), all[1]);
  EXPECT_EQ(GRU(4, {.return_state = true}).call_all({x}).size(), 2u);
  EXPECT_EQ(LSTM(4)(numbers({0, 5, 3})).shape(), (Shape{0, 4}));
  EXPECT_EQ(GRU(4, {.return_sequences = true})(numbers({0, 5, 3})).shape(), (Shape{0, 5, 4}));
}

/// In halves, the second beginning where the first ended.
template <class L>
void check_initial_state(const L& layer, size_t states) {
  const Tensor x = numbers({3, 6, 2});
  const Outputs whole = layer.call_all({x});
  Tensors second{ops::slice_axis(x, 1, {.start = 2, .stop = 6})};
  const Outputs first = layer.call_all({ops::slice_axis(x, 1, {.start = 0, .stop = 2})});
  for (size_t i = 0; i < states; ++i) second.push_back(first[i + 1]);
  const Outputs rest = layer.call_all(second);
  for (size_t i = 0; i <= states; ++i) expect_near(rest[i], whole[i]);
}

TEST(Recurrent, GoesOnFromGivenStates) {
  check_initial_state(LSTM(3, {.return_state = true}), 2);
  check_initial_state(GRU(3, {.return_state = true}), 1);
  check_initial_state(RNN({LSTMCell(2), SimpleRNNCell(3)}, {.return_state = true}), 3);
  EXPECT_NE(error_text<InvalidArgumentError>([] {
              LSTM(3).call_all({numbers({1, 2, 2}), numbers({1, 3})});
            }).find("2 initial state(s)"),
            std::string::npos);
}

TEST(Recurrent, AStatefulLayerGoesOnWithTheNextBatch) {
  const Tensor x = numbers({3, 6, 2});
  const LSTM plain(3), stateful(3, {.stateful = true});
  plain(x);
  stateful(x);
  stateful.reset_state();
  stateful.set_weights(plain.get_weights());
  stateful(ops::slice_axis(x, 1, {.start = 0, .stop = 4}));
  expect_near(stateful(ops::slice_axis(x, 1, {.start = 4, .stop = 6})), plain(x));
  stateful.reset_state();
  expect_near(stateful(x), plain(x));
  EXPECT_EQ(stateful.weights().size(), 3u);
  EXPECT_NE(error_text<ShapeError>([&] {
              stateful(numbers({2, 6, 2}));
            }).find("batches of 3 rows"),
            std::string::npos);
}

TEST(Recurrent, AStatefulModelKeepsStatesThroughFitEvaluateAndPredict) {
  const auto make = [] {
    set_random_seed(3);
    return Sequential(
        {Input({2, 2}, {.batch_size = 4}), GRU(3, {.stateful = true, .name = "memory"}), Dense(1)});
  };
  const Model model = make();
  const Tensor x = numbers({4, 2, 2});
  const Tensor first = model.predict(x, {.batch_size = 4, .verbose = 0});
  const Tensor second = model.predict(x, {.batch_size = 4, .verbose = 0});
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
  const auto* memory = recurrent_node(model.layers()[0]);
  ASSERT_TRUE(memory);
  memory->reset_state();
  expect_near(model.predict(x, {.batch_size = 4, .verbose = 0}), first);
  EXPECT_NE(error_text<ShapeError>([] {
              LSTM(2, {.stateful = true})(Input({2, 2}));
            }).find("batch"),
            std::string::npos);
}

CallOptions training_options(const Tensor& x, int64_t first_row, int64_t step) {
  CallOptions options;
  options.training = true;
  options.first_row = first_row;
  options.rows = options.global_rows = x.shape()[0];
  options.step = Tensor::scalar<int64_t>(step);
  return options;
}

TEST(Recurrent, DropoutIsTheSameAtEveryStepAndDependsOnTheGlobalRow) {
  for (const double recurrent : {0.0, 0.5}) {
    const LSTM layer(4,
                     {.dropout = 0.5, .recurrent_dropout = recurrent, .seed = 1, .return_sequences = true});
    const Tensor x = numbers({6, 3, 5});
    const auto run = [&](const Tensor& rows, int64_t first, int64_t step) {
      layer.node().ensure_built({rows.shape()});
      Call call(training_options(rows, first, step));
      return layer(call, Inputs(&rows, 1)).at(0);
    };
    const Tensor whole = run(x, 0, 7);
    expect_near(run(x.rows(4, 2).clone(), 4, 7), whole.rows(4, 2).clone());
    EXPECT_NE(run(x, 0, 8).to_vector<float>(), whole.to_vector<float>());
    EXPECT_NE(layer(x).to_vector<float>(), whole.to_vector<float>());
  }
  const SimpleRNN sums(5, {.activation = "linear",
                           .kernel_initializer = "identity",
                           .recurrent_initializer = "zeros",
                           .dropout = 0.5,
                           .return_sequences = true,
                           .seed = 2});
  const Tensor ones = Tensor::full({4, 3, 5}, 1.0);
  sums.node().ensure_built({ones.shape()});
  Call call(training_options(ones, 0, 0));
  const Tensor y = sums(call, Inputs(&ones, 1)).at(0);
  const Tensors steps = ops::split(y, 3, 1);
  expect_near(steps[0], steps[1]);
  expect_near(steps[0], steps[2]);
  const auto values = steps[0].to_vector<float>();
  EXPECT_TRUE(std::find(values.begin(), values.end(), 0.0f) != values.end());
  EXPECT_TRUE(std::find(values.begin(), values.end(), 2.0f) != values.end());
}

TEST(Recurrent, WholeSequencesAndSingleStepsAgree) {
  const Tensor x = with_mask(numbers({4, 5, 3}),
                             flags({0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1}, {4, 5}));
  struct Custom final : RecurrentCellNode {
    LSTMCell inner{3};
    Custom() { track("inner", inner); }
    std::string class_name() const override { return "Custom"; }
    std::vector<int64_t> state_sizes() const override { return {3, 3}; }
    void build(Builder& b, const Shape& input) override { b.build(inner, input); }
    Outputs step(Call& c, const Tensor& input, Inputs states, const CellPass&) const override {
      Tensors all{input};
      all.insert(all.end(), states.begin(), states.end());
      return inner(c, Inputs(all));
    }
  };
  for (const bool backwards : {false, true}) {
    const LSTM layer(3, {.return_sequences = true, .return_state = true, .go_backwards = backwards});
    const RNN steps(make_layer<Custom>(),
                    {.return_sequences = true, .return_state = true, .go_backwards = backwards});
    const Outputs expected = layer.call_all({x});
    steps.call_all({x});
    steps.set_weights(layer.get_weights());
    const Outputs received = steps.call_all({x});
    for (size_t i = 0; i < 3; ++i) expect_near(received[i], expected[i]);
  }
}

TEST(Masks, TravelThroughLayersThatLetThem) {
  const Tensor x = Tensor::from(std::vector<int32_t>{1, 2, 0, 3, 0, 0}, {2, 3});
  const Tensor y = Embedding(4, 2, {.mask_zero = true})(x);
  const std::vector<bool> expected{true, true, false, true, false, false};
  EXPECT_EQ(mask_of(y).to_vector<bool>(), expected);
  const Tensor dense = Dense(3)(Dropout(0.5)(y));
  EXPECT_EQ(mask_of(dense).to_vector<bool>(), expected);
  EXPECT_EQ(mask_of(Add()({dense, dense})).to_vector<bool>(), expected);
  EXPECT_FALSE(mask_of(Add()({dense, with_mask(dense, Tensor())})).defined());
  EXPECT_EQ(mask_of(Concatenate(1)({dense, dense})).shape(), (Shape{2, 6}));
  EXPECT_FALSE(mask_of(Flatten()(dense)).defined());
  EXPECT_FALSE(mask_of(LSTM(2)(dense)).defined());
  EXPECT_EQ(mask_of(LSTM(2, {.return_sequences = true})(dense)).to_vector<bool>(), expected);
  EXPECT_FALSE(mask_of(Embedding(4, 2)(x)).defined());
}

TEST(Masks, AreNodesOfAFunctionalGraph) {
  clear_session();
  const Input tokens({3}, {.dtype = "int32"});
  const Tensor embedded = Embedding(4, 2, {.mask_zero = true})(tokens);
  const Model model(tokens, Dense(1)(LSTM(2)(embedded)));
  const auto& graph = dynamic_cast<const FunctionalNode&>(model.node()).topology();
  std::vector<std::string> names;
  for (const auto& operation : graph.operations)
    names.push_back(operation->layer ? operation->layer.class_name() : operation->op_class);
  EXPECT_EQ(names, (std::vector<std::string>{"", "Embedding", "NotEqual", "LSTM", "Dense"}));

  const Tensor x = Tensor::from(std::vector<int32_t>{1, 2, 0, 3, 0, 0}, {2, 3});
  const Tensor steps = model.layers()[1](x),
               short_row = model.layers()[1](Tensor::from(std::vector<int32_t>{1, 2}, {1, 2}));
  expect_near(model.predict(x, {.verbose = 0}).rows(0, 1).clone(),
              model.layers().back()(model.layers()[model.layers().size() - 2](short_row)), 1e-6f);
}

TEST(Masks, AreGivenByHandInAGraph) {
  const Input sequence({3, 2}), kept({3}, {.dtype = "bool"});
  const LSTM lstm(2);
  const Model model({.inputs = {sequence, kept}, .outputs = {lstm(given_mask(sequence, kept))}});
  const Tensor x = numbers({2, 3, 2}), mask = flags({1, 0, 1, 0, 0, 1}, {2, 3});
  expect_near(model.predict_all({x, mask}, {.verbose = 0})[0], lstm(given_mask(x, mask)));
  EXPECT_NE(lstm(x).to_vector<float>(), lstm(given_mask(x, mask)).to_vector<float>());
}

TEST(Masks, WithStatesOnlyAGivenMaskCounts) {  // as in Keras
  const LSTM lstm(2);
  const Tensor x = numbers({2, 3, 2}), mask = flags({1, 0, 1, 0, 0, 1}, {2, 3}), h = numbers({2, 2}, 2);
  const Tensor passed_on = with_mask(x, mask), plain = lstm({x, h, h});
  EXPECT_EQ(lstm({passed_on, h, h}).to_vector<float>(), plain.to_vector<float>());
  EXPECT_NE(lstm({given_mask(x, mask), h, h}).to_vector<float>(), plain.to_vector<float>());
  expect_near(lstm(passed_on), lstm(given_mask(x, mask)));
}

TEST(Bidirectional, ChecksItsLayers) {
  EXPECT_THROW(Bidirectional(Dense(2)), InvalidArgumentError);
  EXPECT_THROW(Bidirectional(LSTM(2), {.merge_mode = "max"}), InvalidArgumentError);
  EXPECT_THROW(Bidirectional(LSTM(2), {.backward_layer = LSTM(2)}), InvalidArgumentError);
  EXPECT_THROW(
      Bidirectional(LSTM(2), {.backward_layer = LSTM(2, {.return_sequences = true, .go_backwards = true})}),
      InvalidArgumentError);
  EXPECT_EQ(Bidirectional(LSTM(2), {.merge_mode = ""}).call_all({numbers({1, 2, 3})}).size(), 2u);
}

TEST(Recurrent, RefusesWhatItCannotUse) {
  EXPECT_THROW(LSTM(0), InvalidArgumentError);
  EXPECT_THROW(GRU({.units = -1}), InvalidArgumentError);
  EXPECT_THROW(RNN(Dense(2)), InvalidArgumentError);
  EXPECT_THROW(StackedRNNCells(std::vector<Layer>{}), InvalidArgumentError);
  EXPECT_THROW(TimeDistributed({.layer = {}}), InvalidArgumentError);
  EXPECT_THROW(Embedding(0, 2), InvalidArgumentError);
  EXPECT_THROW(LSTM(2)(numbers({2, 3})), ShapeError);
  EXPECT_THROW(Lambda(Lambda::Function()), InvalidArgumentError);
  EXPECT_THROW(Lambda([](const Tensor& x) { return x; })({numbers({1}), numbers({1})}), InvalidArgumentError);
}

TEST(Lambda, IsPartOfAModel) {
  const Input a({2}), b({2});
  const Tensor y = Lambda([](const Tensors& x) { return x[0] * x[1] + 1.0; })({a, b});
  const Model model({.inputs = {a, b}, .outputs = {Dense(1)(y)}});
  EXPECT_EQ(model.predict_all({numbers({3, 2}), numbers({3, 2})}, {.verbose = 0})[0].shape(), (Shape{3, 1}));
  const Lambda two([](const Tensors& x) { return Tensors{x[0], x[0] * 2.0}; });
  EXPECT_EQ(two.call_all({numbers({2})}).size(), 2u);
}

TEST(Embedding, GradientsOfRowsAddUp) {
  const Model model =
      Sequential({Input({3}, {.dtype = "int32"}), Embedding(5, 1, {.embeddings_initializer = "ones"})});
  model.compile({.optimizer = SGD({.learning_rate = 1.0}), .loss = "mse"});
  const Tensor x = Tensor::from(std::vector<int32_t>{2, 2, 4}, {1, 3});
  model.train_on_batch(x, Tensor::zeros({1, 3, 1}));
  // Each of the three values has the slope 2 / 3.
  expect_near(model.weights()[0].value().clone(),
              Tensor::from(std::vector<float>{1, 1, 1 - 4.0f / 3, 1, 1 - 2.0f / 3}, {5, 1}));
}

}  // namespace
}  // namespace nyala::recurrent_test
