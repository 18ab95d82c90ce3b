#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/lstm.h>
#include <nyala/api/layers/rnn/lstm_cell.h>

namespace nyala {

using namespace nyala::detail;

void LSTMConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  v.optional("seed", seed, -1);
  visit_returned(v, *this);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

Layer cell_of(const LSTMConfig& config) {
  return LSTMCell(with_fields_of<LSTMCellConfig>(config, "lstm_cell"));
}

class LstmNode final : public RecurrentNode {
 public:
  explicit LstmNode(const LSTMConfig& config)
      : RecurrentNode(cell_of(config), settings_of(config)), config_(config) {}
  std::string class_name() const override { return "LSTM"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer clone(const std::string& name, const RecurrentSettings& settings) const override {
    return LSTM(with_settings(config_, *this, name, settings));
  }

 private:
  LSTMConfig config_;
};

}  // namespace

LSTM::LSTM(const Config& config) : RecurrentLayer(node_from<LstmNode>(config)) {}

LSTM::LSTM(int64_t units, Config config) : LSTM(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
