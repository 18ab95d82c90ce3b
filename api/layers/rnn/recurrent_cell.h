#pragma once

#include <optional>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/ops/nn/recurrence.h>

namespace nyala {

/// What all steps of one pass of a recurrent layer share: dropout masks, sliced weights.
struct CellPass {
  Tensors tensors;
  std::vector<CellPass> inner;  // of the cells that a cell holds
};

/// A sequence x (batch, time, features) that begins with `states`; steps where `mask` (batch, time) is false
/// do not count. What is returned and how: RecurrentSettings.
struct CellSequence {
  Tensor x;
  Tensors states;
  Tensor mask;  // undefined: every step counts
  bool return_sequences = false;
  bool go_backwards = false;
  bool zero_output_for_mask = false;
};

/// One step of a recurrent layer. Derive to write a cell for RNN: state_sizes() and step() are enough.
/// As a layer it takes {x, states...} and returns {output, new states...}.
class RecurrentCellNode : public LayerNode {
 public:
  /// The last sizes of the states (batch, size).
  virtual std::vector<int64_t> state_sizes() const = 0;
  /// Shapes of the states without the batch; known when the cell is built.
  virtual Shapes state_shapes() const;
  virtual int64_t output_size() const { return state_sizes().front(); }

  /// The part of all steps that needs no state, at once: (batch, time, features) -> (batch, time, any).
  virtual Tensor project(Call&, const Tensor& x) const { return x; }
  /// Called before the steps of a pass; `state` is the first state.
  virtual CellPass begin(Call&, const Tensor& state) const;
  /// One step, x being a step of project(): {output, new states...}.
  virtual Outputs step(Call& c, const Tensor& x, Inputs states, const CellPass& pass) const = 0;
  /// All steps at once: {output, last states...}; empty where the cell can only go step by step.
  virtual Outputs run(Call&, const CellSequence&) const { return {}; }
  /// A cell of the same configuration with weights of its own. Throws StateError where a class cannot.
  virtual Layer clone() const;

  Outputs call(Call& c, Inputs inputs) const override;
  bool takes_many() const override { return true; }
};

namespace detail {

/// What the configurations of cells and of layers with one cell have behind their sizes.
template <class Config>
void visit_cell(FieldVisitor& v, Config& c) {
  visit_activation_and_weights(v, c);
  v.field("dropout", c.dropout);
  v.field("recurrent_dropout", c.recurrent_dropout);
}

/// cell.clone() with the cell's dtype policy.
Layer clone_of(const RecurrentCellNode& cell);

/// The cell that `layer` is. Throws InvalidArgumentError, naming `owner`, for any other layer.
const RecurrentCellNode& recurrent_cell(const std::string& owner, const Layer& layer);

}  // namespace detail

/// The two dropouts of a cell: one draw serves all steps, and depends on the row of the global batch, not on
/// replicas.
class CellDropout {
 public:
  /// Rates outside [0, 1] are moved there, as Keras does; a rate of 0 or 1 drops nothing.
  CellDropout(double input, double recurrent, int64_t seed);
  bool drops_input(const Call& c) const { return c.training() && input_ > 0.0 && input_ < 1.0; }
  bool drops_state(const Call& c) const { return c.training() && recurrent_ > 0.0 && recurrent_ < 1.0; }
  /// Each gate has an input dropout of its own, where there is a recurrent dropout.
  bool drops_by_gate() const { return recurrent_ != 0.0; }
  /// x (batch, time, features) with one draw for all steps.
  Tensor input(Call& c, const Tensor& x) const;
  /// Factors of `gates` times the size of `state` (batch, size).
  Tensor state_factors(Call& c, const Tensor& state, int64_t gates) const;
  uint64_t* key() { return &key_; }

 private:
  double input_, recurrent_;
  uint64_t key_;
};

/// The activations of a cell as the ops for whole sequences know them; none where one is not among those.
struct SequenceActivations {
  ops::RecurrentActivation inner, gates;
};

namespace detail {

std::optional<SequenceActivations> sequence_activations(const ActivationArgument& inner,
                                                        const ActivationArgument& gates);
/// The options of those ops for a sequence.
ops::RecurrentOptions recurrent_options(const SequenceActivations& activations, const CellSequence& sequence);

}  // namespace detail

/// x . kernel + bias for all gates (equal parts of the last axis) behind a cell's input dropout.
struct GateProjection {
  Tensor kernel, bias;  // bias may be undefined
  int64_t gates = 1;
};

namespace detail {

Tensor project_gates(Call& c, const CellDropout& dropout, const Tensor& x, const GateProjection& p);

/// The first bias of an LSTM, whose gates are equal parts: ones for the second, `rest` for the others.
Initializer forget_bias(const Initializer& rest);

/// h . kernel for all gates, each of which sees h times its own factors (batch, gates * size) where defined.
Tensor recur_gates(const Tensor& h, const Tensor& kernel, const Tensor& factors, int64_t gates);

}  // namespace detail

}  // namespace nyala
