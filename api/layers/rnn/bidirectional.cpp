// Two layers over the same input, one backwards; its sequence is turned around before both are joined. With
// states of both, the first half of the initial ones is the forward layer's, as in Keras.
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/rnn/bidirectional.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void BidirectionalConfig::fields(FieldVisitor& v) {
  v.field("layer", layer);
  v.optional("merge_mode", merge_mode);
  v.field("backward_layer", backward_layer);
}

namespace {

const RecurrentNode& recurrent(const Layer& layer) {
  const RecurrentNode* node = recurrent_node(layer);
  if (!node)
    throw InvalidArgumentError("Bidirectional: expected a recurrent layer such as LSTM, received " +
                               (layer ? "layer " + in_quotes(layer.name()) + " (" + layer.class_name() + ")"
                                      : std::string("an empty handle")));
  return *node;
}

std::string with_prefix(const std::string& prefix, const std::string& name) {
  return name.rfind(prefix, 0) == 0 ? name : prefix + name;
}

/// A copy of `layer` for one of the directions.
Layer direction(const Layer& layer, const std::string& prefix, bool backwards) {
  const RecurrentNode& node = recurrent(layer);
  RecurrentSettings settings = node.settings();
  settings.go_backwards = backwards;
  settings.zero_output_for_mask = settings.return_sequences;
  return node.clone(with_prefix(prefix, layer.name()), settings);
}

void check_settings(const RecurrentSettings& forward, const RecurrentSettings& backward) {
  if (forward.go_backwards == backward.go_backwards)
    throw InvalidArgumentError(
        "Bidirectional: expected layers of different go_backwards, received two with " +
        std::string(forward.go_backwards ? "true" : "false"));
  const auto same = [](const char* name, bool a, bool b) {
    if (a != b)
      throw InvalidArgumentError("Bidirectional: expected layers of one " + std::string(name) +
                                 ", received two that differ in it");
  };
  same("stateful", forward.stateful, backward.stateful);
  same("return_sequences", forward.return_sequences, backward.return_sequences);
  same("return_state", forward.return_state, backward.return_state);
}

class BidirectionalNode final : public LayerNode {
 public:
  explicit BidirectionalNode(const BidirectionalConfig& config) : config_(config) {
    const std::string& mode = config.merge_mode;
    if (mode != "sum" && mode != "mul" && mode != "ave" && mode != "concat" && !mode.empty())
      throw InvalidArgumentError(
          "Bidirectional: expected merge_mode 'sum', 'mul', 'ave', 'concat' or none, " +
          std::string("received '") + mode + "'");
    const bool backwards = recurrent(config.layer).settings().go_backwards;
    forward_ = track("forward_layer", direction(config.layer, "forward_", backwards));
    const Layer& given = config.backward_layer;
    if (given) recurrent(given);
    backward_ = track("backward_layer", given ? given : direction(config.layer, "backward_", true));
    auto& second = dynamic_cast<RecurrentNode&>(backward_.node());
    second.set_zero_output_for_mask(second.settings().return_sequences);
    check_settings(recurrent(forward_).settings(), recurrent(backward_).settings());
  }
  std::string class_name() const override { return "Bidirectional"; }
  void fields(FieldVisitor& v) override {
    // What files hold of the layers are those inside, whose names and directions tell them apart.
    BidirectionalConfig shown = config_;
    shown.layer = forward_;
    shown.backward_layer = backward_;
    shown.fields(v);
  }
  bool takes_many() const override { return true; }
  bool supports_masking() const override { return true; }
  bool uses_mask() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t num_outputs) const override {
    Tensors masks(num_outputs);
    if (!settings().return_sequences) return masks;
    masks[0] = mask_of(inputs[0]);
    if (config_.merge_mode.empty()) masks[1] = masks[0];
    return masks;
  }

  void build(Builder& b, const Shapes& inputs) override {
    b.build(forward_, inputs.at(0));
    b.build(backward_, inputs.at(0));
  }

  Outputs call(Call& c, Inputs inputs) const override {
    if (inputs.size() % 2 == 0)
      throw InvalidArgumentError("expected initial states in pairs, received " +
                                 std::to_string(inputs.size() - 1));
    const size_t half = (inputs.size() - 1) / 2;
    Tensors forward(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(half) + 1), backward{inputs[0]};
    backward.insert(backward.end(), inputs.begin() + static_cast<ptrdiff_t>(half) + 1, inputs.end());
    const Outputs first = forward_(c, Inputs(forward));
    Outputs second = backward_(c, Inputs(backward));
    second[0] = ops::cast(second[0], compute_dtype());
    if (settings().return_sequences) second[0] = ops::flip(second[0], {1});
    Outputs outputs = merged(ops::cast(first[0], compute_dtype()), second[0]);
    outputs.insert(outputs.end(), first.begin() + 1, first.end());
    outputs.insert(outputs.end(), second.begin() + 1, second.end());
    return outputs;
  }

 private:
  const RecurrentSettings& settings() const { return recurrent(forward_).settings(); }

  Outputs merged(const Tensor& a, const Tensor& b) const {
    const std::string& mode = config_.merge_mode;
    if (mode == "concat") return {ops::concatenate({a, b}, -1)};
    if (mode == "sum") return {ops::add(a, b)};
    if (mode == "ave") return {ops::affine(ops::add(a, b), 0.5)};
    if (mode == "mul") return {ops::multiply(a, b)};
    return {a, b};
  }

  BidirectionalConfig config_;
  Layer forward_, backward_;
};

}  // namespace

Bidirectional::Bidirectional(const Config& config) : Layer(node_from<BidirectionalNode>(config)) {}

Bidirectional::Bidirectional(Layer layer, Config config)
    : Bidirectional(with(std::move(config), &Config::layer, std::move(layer))) {}

void Bidirectional::reset_state() const {
  for (const auto& [attribute, layer] : node().sublayers()) recurrent(layer).reset_state();
}

}  // namespace nyala
