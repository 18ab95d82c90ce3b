// Shi et al. 2015: an LSTM whose products are convolutions. The input's convolution is one for the images of
// all steps and all gates, the state's one per step, always "same", so that the state keeps its size.
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/api/layers/rnn/conv_lstm2d.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void ConvLSTM2DConfig::fields(FieldVisitor& v) {
  v.field("filters", filters);
  visit_window(v, *this);
  v.field("data_format", data_format);
  visit_size(v, "dilation_rate", dilation_rate);
  visit_cell(v, *this);
  v.optional("seed", seed, -1);
  visit_returned(v, *this);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

ConvLSTM2DConfig checked(ConvLSTM2DConfig config) {
  check_positive("ConvLSTM2D", "filters", config.filters);
  check_kernel_sizes("ConvLSTM2D", config);
  config.padding = checked_padding("ConvLSTM2D", config.padding);
  check_data_format("ConvLSTM2D", config.data_format);
  check_strides_or_dilation("ConvLSTM2D", config.strides, config.dilation_rate);
  return config;
}

class ConvLstmCellNode final : public RecurrentCellNode {
 public:
  explicit ConvLstmCellNode(const ConvLSTM2DConfig& config)
      : config_(config), dropout_(config.dropout, config.recurrent_dropout, config.seed) {}
  std::string class_name() const override { return "ConvLSTMCell"; }
  uint64_t* random_key() override { return dropout_.key(); }
  std::vector<int64_t> state_sizes() const override { return {config_.filters, config_.filters}; }
  Shapes state_shapes() const override { return {state_, state_}; }

  void build(Builder& b, const Shape& input) override {
    check_image(input);
    if (!input.slice(1, 4).is_known())
      throw ShapeError("expected images of known height, width and channels, received " + input.to_string());
    check_window(input, {config_.kernel_size, config_.strides, config_.dilation_rate, config_.padding});
    const int64_t rows = config_.kernel_size.rows(), columns = config_.kernel_size.columns(),
                  filters = config_.filters;
    kernel_ = b.weight("kernel", {rows, columns, input.back(), 4 * filters}, config_.kernel_initializer,
                       {config_.kernel_regularizer, config_.kernel_constraint});
    recurrent_kernel_ =
        b.weight("recurrent_kernel", {rows, columns, filters, 4 * filters}, config_.recurrent_initializer,
                 {config_.recurrent_regularizer, config_.recurrent_constraint});
    if (config_.use_bias)
      bias_ = b.weight(
          "bias", {4 * filters},
          config_.unit_forget_bias ? forget_bias(config_.bias_initializer) : config_.bias_initializer,
          {config_.bias_regularizer, config_.bias_constraint});
    const Tensor image = Tensor::abstract(input.with(0, 1), compute_dtype());
    const Tensor kernel = Tensor::abstract({rows, columns, input.back(), filters}, compute_dtype());
    state_ = ops::conv2d(image, kernel, {}, input_options()).shape().slice(1, 4);
  }

  Tensor project(Call& c, const Tensor& x) const override {
    if (x.is_abstract()) {
      Shape shape{x.shape()[0], x.shape()[1]};
      for (const int64_t size : state_) shape.append(size);
      return Tensor::abstract(shape.with(-1, 4 * config_.filters), x.dtype(), x.device());
    }
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    if (!dropout_.drops_input(c)) return convolved(x, c[kernel_], bias);
    const Tensors kernels = ops::split(c[kernel_], 4, 3);
    Tensors biases(4), parts;
    if (bias.defined()) biases = ops::split(bias, 4, 0);
    for (size_t gate = 0; gate < 4; ++gate)
      parts.push_back(convolved(dropout_.input(c, x), kernels[gate], biases[gate]));
    return ops::concatenate(parts, -1);
  }

  CellPass begin(Call& c, const Tensor& state) const override {
    if (!dropout_.drops_state(c)) return {{c[recurrent_kernel_]}, {}};
    return {ops::split(c[recurrent_kernel_], 4, 3),
            {{ops::split(dropout_.state_factors(c, state, 4), 4, -1), {}}}};
  }

  Outputs step(Call&, const Tensor& x, Inputs states, const CellPass& pass) const override {
    const Tensors z = ops::split(ops::add(x, recurrent(states[0], pass)), 4, -1);
    const auto& gate = config_.recurrent_activation;
    const Tensor c =
        ops::add(ops::multiply(gate(z[1]), states[1]), ops::multiply(gate(z[0]), config_.activation(z[2])));
    const Tensor h = ops::multiply(gate(z[3]), config_.activation(c));
    return {h, h, c};
  }

 private:
  ops::Conv2DOptions input_options() const {
    return {.strides = config_.strides.to_array(),
            .padding = config_.padding,
            .dilation = config_.dilation_rate.to_array()};
  }

  /// All images of all steps at once.
  Tensor convolved(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    const Shape& s = x.shape();
    const Tensor images = ops::reshape(x, {s[0] * s[1], s[2], s[3], s[4]});
    const Tensor y = ops::conv2d(images, kernel, bias, input_options());
    return ops::reshape(y, {s[0], s[1], y.shape()[1], y.shape()[2], y.shape()[3]});
  }

  static Tensor recurrent(const Tensor& h, const CellPass& pass) {
    const ops::Conv2DOptions same{.padding = "same"};
    if (pass.inner.empty()) return ops::conv2d(h, pass.tensors[0], {}, same);
    Tensors parts;
    for (size_t gate = 0; gate < 4; ++gate)
      parts.push_back(
          ops::conv2d(ops::multiply(h, pass.inner[0].tensors[gate]), pass.tensors[gate], {}, same));
    return ops::concatenate(parts, -1);
  }

  ConvLSTM2DConfig config_;
  CellDropout dropout_;
  Shape state_;
  Variable kernel_, recurrent_kernel_, bias_;
};

Layer cell_of(const ConvLSTM2DConfig& config) {
  return Layer(finish_layer(std::make_shared<ConvLstmCellNode>(config),
                            {"conv_lstm_cell", config.trainable, config.dtype}));
}

class ConvLstm2DNode final : public RecurrentNode {
 public:
  explicit ConvLstm2DNode(const ConvLSTM2DConfig& config)
      : RecurrentNode(cell_of(config), settings_of(config)), config_(config) {}
  std::string class_name() const override { return "ConvLSTM2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer clone(const std::string& name, const RecurrentSettings& settings) const override {
    return ConvLSTM2D(with_settings(config_, *this, name, settings));
  }

 private:
  ConvLSTM2DConfig config_;
};

}  // namespace

ConvLSTM2D::ConvLSTM2D(const Config& config) : RecurrentLayer(node_from<ConvLstm2DNode>(checked(config))) {}

ConvLSTM2D::ConvLSTM2D(int64_t filters, Size2D kernel_size, Config config)
    : ConvLSTM2D(with(std::move(config), &Config::filters, filters, &Config::kernel_size, kernel_size)) {}

}  // namespace nyala
