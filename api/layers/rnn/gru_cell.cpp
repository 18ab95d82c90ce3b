#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/gru_cell.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/gru.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void GRUCellConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  v.field("reset_after", reset_after);
  v.optional("seed", seed, -1);
}

namespace {

class GruCellNode final : public RecurrentCellNode {
 public:
  explicit GruCellNode(const GRUCellConfig& config)
      : config_(config),
        dropout_(config.dropout, config.recurrent_dropout, config.seed),
        activations_(sequence_activations(config.activation, config.recurrent_activation)) {
    check_positive("GRU", "units", config.units);
  }
  std::string class_name() const override { return "GRUCell"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  uint64_t* random_key() override { return dropout_.key(); }
  std::vector<int64_t> state_sizes() const override { return {config_.units}; }
  Layer clone() const override { return GRUCell(config_); }

  void build(Builder& b, const Shape& input) override {
    if (input.back() == None)
      throw ShapeError("expected inputs with a known number of features, received " + input.to_string());
    const int64_t units = config_.units;
    kernel_ = b.weight("kernel", {input.back(), 3 * units}, config_.kernel_initializer,
                       {config_.kernel_regularizer, config_.kernel_constraint});
    recurrent_kernel_ = b.weight("recurrent_kernel", {units, 3 * units}, config_.recurrent_initializer,
                                 {config_.recurrent_regularizer, config_.recurrent_constraint});
    if (config_.use_bias)
      bias_ = b.weight("bias", config_.reset_after ? Shape{2, 3 * units} : Shape{3 * units},
                       config_.bias_initializer, {config_.bias_regularizer, config_.bias_constraint});
  }

  Tensor project(Call& c, const Tensor& x) const override {
    Tensor bias = bias_ ? c[bias_] : Tensor();
    if (bias.defined() && config_.reset_after)
      bias = ops::squeeze(ops::slice_axis(bias, 0, {.stop = 1}), {0});
    return project_gates(c, dropout_, x, {c[kernel_], bias, 3});
  }
  CellPass begin(Call& c, const Tensor& state) const override {
    CellPass pass{{c[recurrent_kernel_], Tensor(), Tensor()}, {}};
    if (bias_ && config_.reset_after)
      pass.tensors[1] = ops::squeeze(ops::slice_axis(c[bias_], 0, {.start = 1, .stop = 2}), {0});
    if (dropout_.drops_state(c)) pass.tensors[2] = dropout_.state_factors(c, state, 3);
    if (!config_.reset_after) {
      const int64_t units = config_.units;
      pass.tensors.push_back(ops::slice_axis(pass.tensors[0], 1, {.start = 0, .stop = 2 * units}));
      pass.tensors.push_back(ops::slice_axis(pass.tensors[0], 1, {.start = 2 * units, .stop = 3 * units}));
      if (!pass.tensors[2].defined()) return pass;
      pass.tensors.push_back(ops::slice_axis(pass.tensors[2], -1, {.start = 0, .stop = 2 * units}));
      pass.tensors.push_back(ops::slice_axis(pass.tensors[2], -1, {.start = 2 * units, .stop = 3 * units}));
    }
    return pass;
  }
  Outputs step(Call&, const Tensor& x, Inputs states, const CellPass& pass) const override {
    const Tensor next =
        config_.reset_after ? reset_behind(x, states[0], pass) : reset_before(x, states[0], pass);
    return {next, next};
  }
  Outputs run(Call& c, const CellSequence& s) const override {
    if (!activations_ || !config_.reset_after || dropout_.drops_state(c)) return {};
    const CellPass pass = begin(c, s.states[0]);
    const ops::GruResult result =
        ops::detail::gru({project(c, s.x), pass.tensors[0], s.states[0], pass.tensors[1], s.mask},
                         recurrent_options(*activations_, s));
    return {result.output, result.h};
  }

 private:
  /// z h + (1 - z) n.
  static Tensor mixed(const Tensor& z, const Tensor& h, const Tensor& n) {
    return ops::add(ops::multiply(z, h), ops::multiply(ops::affine(z, -1.0, 1.0), n));
  }
  Tensor reset_behind(const Tensor& x, const Tensor& h, const CellPass& pass) const {
    Tensor recurrent = recur_gates(h, pass.tensors[0], pass.tensors[2], 3);
    if (pass.tensors[1].defined()) recurrent = ops::add(recurrent, pass.tensors[1]);
    const Tensors from_x = ops::split(x, 3, -1), from_h = ops::split(recurrent, 3, -1);
    const auto& gate = config_.recurrent_activation;
    const Tensor z = gate(ops::add(from_x[0], from_h[0])), r = gate(ops::add(from_x[1], from_h[1]));
    return mixed(z, h, config_.activation(ops::add(from_x[2], ops::multiply(r, from_h[2]))));
  }
  Tensor reset_before(const Tensor& x, const Tensor& h, const CellPass& pass) const {
    const bool drops = pass.tensors[2].defined();
    const Tensor recurrent = recur_gates(h, pass.tensors[3], drops ? pass.tensors[5] : Tensor(), 2);
    const Tensors from_x = ops::split(x, 3, -1), from_h = ops::split(recurrent, 2, -1);
    const auto& gate = config_.recurrent_activation;
    const Tensor z = gate(ops::add(from_x[0], from_h[0])), r = gate(ops::add(from_x[1], from_h[1]));
    const Tensor reset =
        recur_gates(ops::multiply(r, h), pass.tensors[4], drops ? pass.tensors[6] : Tensor(), 1);
    return mixed(z, h, config_.activation(ops::add(from_x[2], reset)));
  }

  GRUCellConfig config_;
  CellDropout dropout_;
  std::optional<SequenceActivations> activations_;
  Variable kernel_, recurrent_kernel_, bias_;
};

}  // namespace

GRUCell::GRUCell(const Config& config) : Layer(node_from<GruCellNode>(config)) {}

GRUCell::GRUCell(int64_t units, Config config) : GRUCell(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
