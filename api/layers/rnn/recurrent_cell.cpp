// x . kernel + bias of all steps and gates is one product (project_gates); dropout by gate makes it one
// product per gate. Masks of dropout are drawn once per pass and not per step (Gal and Ghahramani 2016), as
// Keras does.
#include <algorithm>

#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/api/layers/rnn/recurrent_cell.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

Shapes RecurrentCellNode::state_shapes() const {
  Shapes shapes;
  for (const int64_t size : state_sizes()) shapes.push_back({size});
  return shapes;
}

CellPass RecurrentCellNode::begin(Call&, const Tensor&) const { return {}; }

Layer RecurrentCellNode::clone() const {
  throw StateError("a cell of class " + class_name() + " cannot be made a second time; override clone()");
}

Outputs RecurrentCellNode::call(Call& c, Inputs inputs) const {
  const size_t states = state_sizes().size();
  if (inputs.size() != states + 1)
    throw InvalidArgumentError("expected an input and " + std::to_string(states) + " state(s), received " +
                               std::to_string(inputs.size()) + " tensor(s)");
  const Tensor x = ops::squeeze(project(c, ops::expand_dims(inputs[0], 1)), {1});
  return step(c, x, inputs.subspan(1), begin(c, inputs[1]));
}

Layer detail::clone_of(const RecurrentCellNode& cell) {
  Layer clone = cell.clone();
  clone.set_dtype_policy(cell.dtype_policy());
  return clone;
}

const RecurrentCellNode& detail::recurrent_cell(const std::string& owner, const Layer& layer) {
  const auto* cell = layer ? dynamic_cast<const RecurrentCellNode*>(&layer.node()) : nullptr;
  if (!cell)
    throw InvalidArgumentError(owner + ": expected a recurrent cell such as LSTMCell, received " +
                               (layer ? "layer " + in_quotes(layer.name()) + " (" + layer.class_name() + ")"
                                      : std::string("an empty handle")));
  return *cell;
}

CellDropout::CellDropout(double input, double recurrent, int64_t seed)
    : input_(std::clamp(input, 0.0, 1.0)),
      recurrent_(std::clamp(recurrent, 0.0, 1.0)),
      key_(seeded_key(seed, "recurrent_dropout")) {}

namespace {

Tensor dropped(Call& c, const Tensor& x, double rate, ops::DropoutDescriptor dropout) {
  dropout.rate = rate;
  return ops::dropout(x, drawing_step(c, x), dropout);
}

}  // namespace

Tensor CellDropout::input(Call& c, const Tensor& x) const {
  const RandomKey draw = c.random_key(key_);
  return dropped(c, x, input_, {.key = draw.key, .first_row = draw.first_row, .noise_axes = 2u});
}

Tensor CellDropout::state_factors(Call& c, const Tensor& state, int64_t gates) const {
  const RandomKey draw = c.random_key(key_);
  const Shape shape = state.shape().with(-1, state.shape().back() * gates);
  const Tensor ones = state.is_abstract() ? Tensor::abstract(shape, state.dtype(), state.device())
                                          : Tensor::full(shape, 1.0, state.dtype(), state.device());
  return dropped(c, ones, recurrent_, {.key = draw.key, .first_row = draw.first_row});
}

namespace {

/// The bias of an LSTM: another initializer's values but for the second quarter, which is 1.
class ForgetBias final : public InitializerNode {
 public:
  explicit ForgetBias(Initializer rest) : rest_(std::move(rest)) {}
  std::string class_name() const override { return rest_.node().class_name(); }
  int64_t seed() const override { return rest_.node().seed(); }
  void fill(const Tensor& value, DrawStream& random) const override {
    const int64_t units = value.num_elements() / 4;
    rest_.node().fill(value.rows(0, units), random);
    Initializer("ones").node().fill(value.rows(units, units), random);
    rest_.node().fill(value.rows(2 * units, 2 * units), random);
  }

 private:
  Initializer rest_;
};

std::optional<ops::RecurrentActivation> known(const ActivationArgument& activation) {
  if (activation.is_custom()) return {};
  if (activation.name() == "tanh") return ops::RecurrentActivation::tanh;
  if (activation.name() == "sigmoid") return ops::RecurrentActivation::sigmoid;
  if (activation.name() == "relu") return ops::RecurrentActivation::relu;
  if (activation.name() == "hard_sigmoid") return ops::RecurrentActivation::hard_sigmoid;
  if (activation.is_linear()) return ops::RecurrentActivation::linear;
  return {};
}

}  // namespace

std::optional<SequenceActivations> detail::sequence_activations(const ActivationArgument& inner,
                                                                const ActivationArgument& gates) {
  const auto of_inner = known(inner), of_gates = known(gates);
  if (!of_inner || !of_gates) return {};
  return SequenceActivations{*of_inner, *of_gates};
}

ops::RecurrentOptions detail::recurrent_options(const SequenceActivations& activations,
                                                const CellSequence& sequence) {
  return {.activation = activations.inner,
          .recurrent_activation = activations.gates,
          .return_sequences = sequence.return_sequences,
          .go_backwards = sequence.go_backwards,
          .zero_output_for_mask = sequence.zero_output_for_mask};
}

Initializer detail::forget_bias(const Initializer& rest) {
  return Initializer(std::make_shared<ForgetBias>(rest));
}

Tensor detail::project_gates(Call& c, const CellDropout& dropout, const Tensor& x, const GateProjection& p) {
  if (!dropout.drops_input(c)) return ops::dense(x, p.kernel, p.bias);
  if (!dropout.drops_by_gate()) return ops::dense(dropout.input(c, x), p.kernel, p.bias);
  const Tensors kernels = ops::split(p.kernel, static_cast<int>(p.gates), 1);
  Tensors biases(kernels.size()), parts;
  if (p.bias.defined()) biases = ops::split(p.bias, static_cast<int>(p.gates), 0);
  for (size_t gate = 0; gate < kernels.size(); ++gate)
    parts.push_back(ops::dense(dropout.input(c, x), kernels[gate], biases[gate]));
  return ops::concatenate(parts, -1);
}

Tensor detail::recur_gates(const Tensor& h, const Tensor& kernel, const Tensor& factors, int64_t gates) {
  if (!factors.defined()) return ops::dense(h, kernel);
  const Tensors kernels = ops::split(kernel, static_cast<int>(gates), 1),
                by_gate = ops::split(factors, static_cast<int>(gates), -1);
  Tensors parts;
  for (size_t gate = 0; gate < kernels.size(); ++gate)
    parts.push_back(ops::dense(ops::multiply(h, by_gate[gate]), kernels[gate]));
  return ops::concatenate(parts, -1);
}

}  // namespace nyala
