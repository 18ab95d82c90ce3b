#include <nyala/api/layers/lstm.h>
#include <nyala/api/layers/lstm_cell.h>

namespace nyala {

using namespace nyala::detail;

void LSTMConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  v.field("activation", activation);
  v.field("recurrent_activation", recurrent_activation);
  v.field("use_bias", use_bias);
  v.field("kernel_initializer", kernel_initializer);
  v.field("recurrent_initializer", recurrent_initializer);
  v.field("bias_initializer", bias_initializer);
  v.field("unit_forget_bias", unit_forget_bias);
  v.field("kernel_regularizer", kernel_regularizer);
  v.field("recurrent_regularizer", recurrent_regularizer);
  v.field("bias_regularizer", bias_regularizer);
  v.field("activity_regularizer", activity_regularizer);
  v.field("kernel_constraint", kernel_constraint);
  v.field("recurrent_constraint", recurrent_constraint);
  v.field("bias_constraint", bias_constraint);
  v.field("dropout", dropout);
  v.field("recurrent_dropout", recurrent_dropout);
  v.optional("seed", seed, -1);
  v.field("return_sequences", return_sequences);
  v.field("return_state", return_state);
  v.field("go_backwards", go_backwards);
  v.field("stateful", stateful);
  v.field("unroll", unroll);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

Layer cell_of(const LSTMConfig& config) {
  return LSTMCell(LSTMCellConfig{.units = config.units,
                                 .activation = config.activation,
                                 .recurrent_activation = config.recurrent_activation,
                                 .use_bias = config.use_bias,
                                 .kernel_initializer = config.kernel_initializer,
                                 .recurrent_initializer = config.recurrent_initializer,
                                 .bias_initializer = config.bias_initializer,
                                 .unit_forget_bias = config.unit_forget_bias,
                                 .kernel_regularizer = config.kernel_regularizer,
                                 .recurrent_regularizer = config.recurrent_regularizer,
                                 .bias_regularizer = config.bias_regularizer,
                                 .kernel_constraint = config.kernel_constraint,
                                 .recurrent_constraint = config.recurrent_constraint,
                                 .bias_constraint = config.bias_constraint,
                                 .dropout = config.dropout,
                                 .recurrent_dropout = config.recurrent_dropout,
                                 .seed = config.seed,
                                 .name = "lstm_cell",
                                 .trainable = config.trainable,
                                 .dtype = config.dtype});
}

class LstmNode final : public RecurrentNode {
 public:
  explicit LstmNode(const LSTMConfig& config)
      : RecurrentNode(cell_of(config), settings_of(config)), config_(config) {}
  std::string class_name() const override { return "LSTM"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer remade(const std::string& name, const RecurrentSettings& settings) const override {
    return LSTM(with_settings(config_, name, trainable(), settings));
  }

 private:
  LSTMConfig config_;
};

}  // namespace

LSTM::LSTM(const Config& config)
    : RecurrentLayer(
          finish_layer(std::make_shared<LstmNode>(config), {config.name, config.trainable, config.dtype})) {}

LSTM::LSTM(int64_t units, Config config)
    : LSTM([&] {
        config.units = units;
        return std::move(config);
      }()) {}

}  // namespace nyala
