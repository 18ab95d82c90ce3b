#include <nyala/api/layers/rnn.h>
#include <nyala/api/layers/stacked_rnn_cells.h>

namespace nyala {

using namespace nyala::detail;

void RNNConfig::fields(FieldVisitor& v) {
  v.field("cell", cell);
  v.field("return_sequences", return_sequences);
  v.field("return_state", return_state);
  v.field("go_backwards", go_backwards);
  v.field("stateful", stateful);
  v.field("unroll", unroll);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

class RnnNode final : public RecurrentNode {
 public:
  explicit RnnNode(const RNNConfig& config)
      : RecurrentNode(config.cell, {.return_sequences = config.return_sequences,
                                    .return_state = config.return_state,
                                    .go_backwards = config.go_backwards,
                                    .stateful = config.stateful,
                                    .unroll = config.unroll,
                                    .zero_output_for_mask = config.zero_output_for_mask,
                                    .activity_regularizer = {}}),
        config_(config) {}
  std::string class_name() const override { return "RNN"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer remade(const std::string& name, const RecurrentSettings& settings) const override {
    return RNN(RNNConfig{.cell = cell().remade(),
                         .return_sequences = settings.return_sequences,
                         .return_state = settings.return_state,
                         .go_backwards = settings.go_backwards,
                         .stateful = settings.stateful,
                         .unroll = settings.unroll,
                         .zero_output_for_mask = settings.zero_output_for_mask,
                         .name = name,
                         .trainable = trainable(),
                         .dtype = config_.dtype});
  }

 private:
  RNNConfig config_;
};

}  // namespace

RNN::RNN(const Config& config)
    : RecurrentLayer(
          finish_layer(std::make_shared<RnnNode>(config), {config.name, config.trainable, config.dtype})) {}

RNN::RNN(Layer cell, Config config)
    : RNN([&] {
        config.cell = std::move(cell);
        return std::move(config);
      }()) {}

RNN::RNN(std::vector<Layer> cells, Config config)
    : RNN(StackedRNNCells(std::move(cells)), std::move(config)) {}

}  // namespace nyala
