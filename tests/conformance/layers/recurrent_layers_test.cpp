#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/tests/conformance/layers/run_layer_test.h>

namespace nyala::recurrent_layers_test {
namespace {

template <class L>
void run(typename L::Config config, const Shapes& inputs) {
  const auto make = [config](const std::string& dtype) mutable {
    config.dtype = dtype;
    return L(config);
  };
  run_layer_test({.make = make, .inputs = inputs});
  run_layer_test({.make = make, .inputs = inputs, .training = false});
}

TEST(LayerConformance, LSTM) {
  run<LSTM>({.units = 3}, {{2, 4, 3}});
  run<LSTM>({.units = 2, .use_bias = false, .return_sequences = true, .go_backwards = true}, {{2, 3, 2}});
  run<LSTM>({.units = 2, .activation = "softsign", .recurrent_activation = "hard_sigmoid"}, {{2, 3, 2}});
  run<LSTM>({.units = 2, .dropout = 0.4, .seed = 3, .return_sequences = true}, {{3, 3, 2}});
  run<LSTM>({.units = 2, .dropout = 0.3, .recurrent_dropout = 0.4, .seed = 3}, {{3, 3, 2}});
  run<LSTM>({.units = 2}, {{2, 3, 2}, {2, 2}, {2, 2}});
}

TEST(LayerConformance, GRU) {
  run<GRU>({.units = 3}, {{2, 4, 3}});
  run<GRU>({.units = 2, .return_sequences = true, .reset_after = false}, {{2, 3, 2}});
  run<GRU>({.units = 2, .use_bias = false, .dropout = 0.4, .recurrent_dropout = 0.3, .seed = 1}, {{3, 3, 2}});
  run<GRU>({.units = 2, .recurrent_dropout = 0.3, .seed = 1, .reset_after = false}, {{3, 3, 2}});
}

TEST(LayerConformance, SimpleRNN) {
  run<SimpleRNN>({.units = 3}, {{2, 4, 3}});
  run<SimpleRNN>({.units = 2, .dropout = 0.3, .recurrent_dropout = 0.3, .return_sequences = true, .seed = 2},
                 {{3, 3, 2}});
}

TEST(LayerConformance, RecurrentWrappers) {
  const auto bidirectional = [](const std::string& mode) {
    return [mode](const std::string& dtype) {
      return Bidirectional(LSTM(2, {.return_sequences = true, .dtype = dtype}),
                           {.merge_mode = mode, .dtype = dtype});
    };
  };
  for (const char* mode : {"concat", "sum", "mul", "ave"})
    run_layer_test({.make = bidirectional(mode), .inputs = {{2, 3, 2}}});
  run_layer_test({.make =
                      [](const std::string& dtype) {
                        return RNN({LSTMCell(2, {.dtype = dtype}), GRUCell(3, {.dtype = dtype})},
                                   {.return_sequences = true, .dtype = dtype});
                      },
                  .inputs = {{2, 3, 2}}});
  run_layer_test({.make =
                      [](const std::string& dtype) {
                        return TimeDistributed(Dense(2, {.activation = "tanh", .dtype = dtype}),
                                               {.dtype = dtype});
                      },
                  .inputs = {{2, 3, 4}}});
  run_layer_test({.make =
                      [](const std::string& dtype) {
                        return TimeDistributed(Dropout(0.4, {.seed = 1, .dtype = dtype}), {.dtype = dtype});
                      },
                  .inputs = {{2, 3, 4}}});
}

TEST(LayerConformance, ConvLSTM2D) {
  run<ConvLSTM2D>({.filters = 2, .kernel_size = 2}, {{2, 2, 3, 3, 1}});
  run<ConvLSTM2D>({.filters = 1,
                   .kernel_size = 2,
                   .padding = "same",
                   .dropout = 0.3,
                   .recurrent_dropout = 0.3,
                   .seed = 4,
                   .return_sequences = true},
                  {{2, 2, 3, 2, 1}});
}

TEST(LayerConformance, Embedding) {
  run<Embedding>({.input_dim = 3, .output_dim = 2}, {{2, 3}});
  run<Embedding>({.input_dim = 4, .output_dim = 1, .mask_zero = true}, {{3, 2}});
}

TEST(LayerConformance, Masking) { run<Masking>({}, {{2, 3, 2}}); }

TEST(LayerConformance, Lambda) {
  const auto half = [](const std::string& dtype) {
    return Lambda([](const Tensor& x) { return x * x * 0.5; }, {.dtype = dtype});
  };
  run_layer_test({.make = half, .inputs = {{2, 3}}});
  const auto difference = [](const std::string& dtype) {
    return Lambda([](const Tensors& x) { return x[0] - x[1] * 2.0; }, {.dtype = dtype});
  };
  run_layer_test({.make = difference, .inputs = {{2, 3}, {2, 3}}});
}

}  // namespace
}  // namespace nyala::recurrent_layers_test
