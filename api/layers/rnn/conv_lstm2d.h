#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/size.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>

namespace nyala {

struct ConvLSTM2DConfig {
  NamesRequired names_required = NamesRequired();
  int64_t filters = 0;
  Size2D kernel_size = Size2D::none();
  Size2D strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // "channels_last"
  Size2D dilation_rate = 1;
  ActivationArgument activation = "tanh";
  ActivationArgument recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  int64_t seed = -1;  // below 0: none
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// An LSTM over images (batch, time, height, width, channels) whose products are convolutions: with the
/// kernel of the input, which strides, padding and dilation_rate hold for, and a "same" one of the state.
/// Called with x or {x, h, c}, states being (batch, out height, out width, filters). Shi et al. 2015, without
/// peepholes. What it returns, masks and states: api/layers/rnn/recurrent_layer.h.
class ConvLSTM2D : public RecurrentLayer {
 public:
  using Config = ConvLSTM2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0, and strides or dilation_rate is 1.
  explicit ConvLSTM2D(const Config& config);
  template <size_t N>
  explicit ConvLSTM2D(const NoSuchField (&)[N]) = delete;
  ConvLSTM2D(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  ConvLSTM2D(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
