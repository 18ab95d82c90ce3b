#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/simple_rnn.h>
#include <nyala/api/layers/rnn/simple_rnn_cell.h>

namespace nyala {

using namespace nyala::detail;

void SimpleRNNConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  visit_returned(v, *this);
  v.optional("seed", seed, -1);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

Layer cell_of(const SimpleRNNConfig& config) {
  return SimpleRNNCell(with_fields_of<SimpleRNNCellConfig>(config, "simple_rnn_cell"));
}

class SimpleRnnNode final : public RecurrentNode {
 public:
  explicit SimpleRnnNode(const SimpleRNNConfig& config)
      : RecurrentNode(cell_of(config), settings_of(config)), config_(config) {}
  std::string class_name() const override { return "SimpleRNN"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer clone(const std::string& name, const RecurrentSettings& settings) const override {
    return SimpleRNN(with_settings(config_, *this, name, settings));
  }

 private:
  SimpleRNNConfig config_;
};

}  // namespace

SimpleRNN::SimpleRNN(const Config& config) : RecurrentLayer(node_from<SimpleRnnNode>(config)) {}

SimpleRNN::SimpleRNN(int64_t units, Config config)
    : SimpleRNN(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
