#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/lstm_cell.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/lstm.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void LSTMCellConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  v.optional("seed", seed, -1);
}

namespace {

class LstmCellNode final : public RecurrentCellNode {
 public:
  explicit LstmCellNode(const LSTMCellConfig& config)
      : config_(config),
        dropout_(config.dropout, config.recurrent_dropout, config.seed),
        activations_(sequence_activations(config.activation, config.recurrent_activation)) {
    check_positive("LSTM", "units", config.units);
  }
  std::string class_name() const override { return "LSTMCell"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  uint64_t* random_key() override { return dropout_.key(); }
  std::vector<int64_t> state_sizes() const override { return {config_.units, config_.units}; }
  Layer clone() const override { return LSTMCell(config_); }

  void build(Builder& b, const Shape& input) override {
    if (input.back() == None)
      throw ShapeError("expected inputs with a known number of features, received " + input.to_string());
    const int64_t units = config_.units;
    kernel_ = b.weight("kernel", {input.back(), 4 * units}, config_.kernel_initializer,
                       {config_.kernel_regularizer, config_.kernel_constraint});
    recurrent_kernel_ = b.weight("recurrent_kernel", {units, 4 * units}, config_.recurrent_initializer,
                                 {config_.recurrent_regularizer, config_.recurrent_constraint});
    if (config_.use_bias)
      bias_ = b.weight(
          "bias", {4 * units},
          config_.unit_forget_bias ? forget_bias(config_.bias_initializer) : config_.bias_initializer,
          {config_.bias_regularizer, config_.bias_constraint});
  }

  Tensor project(Call& c, const Tensor& x) const override {
    return project_gates(c, dropout_, x, {c[kernel_], bias_ ? c[bias_] : Tensor(), 4});
  }
  CellPass begin(Call& c, const Tensor& state) const override {
    CellPass pass{{c[recurrent_kernel_]}, {}};
    if (dropout_.drops_state(c)) pass.tensors.push_back(dropout_.state_factors(c, state, 4));
    return pass;
  }
  Outputs step(Call&, const Tensor& x, Inputs states, const CellPass& pass) const override {
    const Tensor factors = pass.tensors.size() > 1 ? pass.tensors[1] : Tensor();
    const Tensors z = ops::split(ops::add(x, recur_gates(states[0], pass.tensors[0], factors, 4)), 4, -1);
    const auto& gate = config_.recurrent_activation;
    const Tensor c =
        ops::add(ops::multiply(gate(z[1]), states[1]), ops::multiply(gate(z[0]), config_.activation(z[2])));
    const Tensor h = ops::multiply(gate(z[3]), config_.activation(c));
    return {h, h, c};
  }
  Outputs run(Call& c, const CellSequence& s) const override {
    if (!activations_ || dropout_.drops_state(c)) return {};
    const ops::LstmResult result =
        ops::detail::lstm({project(c, s.x), c[recurrent_kernel_], s.states[0], s.states[1], s.mask},
                          recurrent_options(*activations_, s));
    return {result.output, result.h, result.c};
  }

 private:
  LSTMCellConfig config_;
  CellDropout dropout_;
  std::optional<SequenceActivations> activations_;
  Variable kernel_, recurrent_kernel_, bias_;
};

}  // namespace

LSTMCell::LSTMCell(const Config& config) : Layer(node_from<LstmCellNode>(config)) {}

LSTMCell::LSTMCell(int64_t units, Config config) : LSTMCell(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
