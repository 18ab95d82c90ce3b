#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/simple_rnn_cell.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void SimpleRNNCellConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  v.optional("seed", seed, -1);
}

namespace {

class SimpleRnnCellNode final : public RecurrentCellNode {
 public:
  explicit SimpleRnnCellNode(const SimpleRNNCellConfig& config)
      : config_(config), dropout_(config.dropout, config.recurrent_dropout, config.seed) {
    check_positive("SimpleRNN", "units", config.units);
  }
  std::string class_name() const override { return "SimpleRNNCell"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  uint64_t* random_key() override { return dropout_.key(); }
  std::vector<int64_t> state_sizes() const override { return {config_.units}; }
  Layer clone() const override { return SimpleRNNCell(config_); }

  void build(Builder& b, const Shape& input) override {
    if (input.back() == None)
      throw ShapeError("expected inputs with a known number of features, received " + input.to_string());
    const int64_t units = config_.units;
    kernel_ = b.weight("kernel", {input.back(), units}, config_.kernel_initializer,
                       {config_.kernel_regularizer, config_.kernel_constraint});
    recurrent_kernel_ = b.weight("recurrent_kernel", {units, units}, config_.recurrent_initializer,
                                 {config_.recurrent_regularizer, config_.recurrent_constraint});
    if (config_.use_bias)
      bias_ = b.weight("bias", {units}, config_.bias_initializer,
                       {config_.bias_regularizer, config_.bias_constraint});
  }

  Tensor project(Call& c, const Tensor& x) const override {
    return project_gates(c, dropout_, x, {c[kernel_], bias_ ? c[bias_] : Tensor(), 1});
  }
  CellPass begin(Call& c, const Tensor& state) const override {
    CellPass pass{{c[recurrent_kernel_]}, {}};
    if (dropout_.drops_state(c)) pass.tensors.push_back(dropout_.state_factors(c, state, 1));
    return pass;
  }
  Outputs step(Call&, const Tensor& x, Inputs states, const CellPass& pass) const override {
    const Tensor factors = pass.tensors.size() > 1 ? pass.tensors[1] : Tensor();
    const Tensor h = config_.activation(ops::add(x, recur_gates(states[0], pass.tensors[0], factors, 1)));
    return {h, h};
  }

 private:
  SimpleRNNCellConfig config_;
  CellDropout dropout_;
  Variable kernel_, recurrent_kernel_, bias_;
};

}  // namespace

SimpleRNNCell::SimpleRNNCell(const Config& config) : Layer(node_from<SimpleRnnCellNode>(config)) {}

SimpleRNNCell::SimpleRNNCell(int64_t units, Config config)
    : SimpleRNNCell(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
