#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/rnn.h>
#include <nyala/api/layers/rnn/stacked_rnn_cells.h>

namespace nyala {

using namespace nyala::detail;

void RNNConfig::fields(FieldVisitor& v) {
  v.field("cell", cell);
  visit_returned(v, *this);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

class RnnNode final : public RecurrentNode {
 public:
  explicit RnnNode(const RNNConfig& config)
      : RecurrentNode(config.cell, settings_of(config)), config_(config) {}
  std::string class_name() const override { return "RNN"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer clone(const std::string& name, const RecurrentSettings& settings) const override {
    RNNConfig config = with_settings(config_, *this, name, settings);
    config.cell = clone_of(cell());
    return RNN(config);
  }

 private:
  RNNConfig config_;
};

}  // namespace

RNN::RNN(const Config& config) : RecurrentLayer(node_from<RnnNode>(config)) {}

RNN::RNN(Layer cell, Config config) : RNN(with(std::move(config), &Config::cell, std::move(cell))) {}

RNN::RNN(std::vector<Layer> cells, Config config)
    : RNN(StackedRNNCells(std::move(cells), {.dtype = config.dtype}), config) {}

}  // namespace nyala
