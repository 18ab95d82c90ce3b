// The cell projects the whole sequence at once, then a cell that has an op for sequences (LSTM, GRU with
// known activations) runs all steps in it; any other goes step by step through ops, with masks by where(). A
// stateful layer keeps the states of the whole batch: each replica writes its rows and zeros elsewhere, and
// the variable's value is the sum.
#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/base/layer_autocast.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/time_steps.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala {

using namespace nyala::detail;

void RecurrentSettings::fields(FieldVisitor& v) {
  visit_returned(v, *this);
  v.field("zero_output_for_mask", zero_output_for_mask);
  v.field("activity_regularizer", activity_regularizer);
}

RecurrentNode::RecurrentNode(Layer cell, const RecurrentSettings& settings)
    : settings_(settings), cell_(track("cell", cell)), cell_node_(&recurrent_cell("RNN", cell_)) {}

namespace {

Shape with_batch(int64_t batch, const Shape& shape) {
  Shape out{batch};
  for (const int64_t size : shape) out.append(size);
  return out;
}

}  // namespace

Tensors RecurrentNode::compute_mask(Inputs inputs, size_t num_outputs) const {
  Tensors masks(num_outputs);
  if (settings_.return_sequences) masks[0] = mask_of(inputs[0]);
  return masks;
}

void RecurrentNode::build(Builder& b, const Shapes& inputs) {
  const Shape& x = inputs.at(0);
  if (x.rank() < 3) throw ShapeError("expected sequences (batch, time, features), received " + x.to_string());
  b.build(cell_, x.without(1));
  if (!settings_.stateful) return;
  if (x[0] == None)
    throw ShapeError(
        "a stateful layer needs the size of the batch when it is built: give it to the Input, "
        "Input(shape, {.batch_size = 32}); received " +
        x.to_string());
  for (const Shape& state : cell_node_->state_shapes())
    kept_.push_back(b.hidden_state("rnn_state", with_batch(x[0], state), Aggregation::sum));
}

Tensors RecurrentNode::first_states(Call& c, Inputs inputs) const {
  const Shapes shapes = cell_node_->state_shapes();
  const Tensor& x = inputs[0];
  if (inputs.size() > 1) {
    if (inputs.size() != shapes.size() + 1)
      throw InvalidArgumentError("expected sequences and " + std::to_string(shapes.size()) +
                                 " initial state(s), received " + std::to_string(inputs.size()) + " tensors");
    Tensors given(inputs.begin() + 1, inputs.end());
    for (Tensor& state : given) state = ops::cast(state, cell_node_->compute_dtype());
    return given;
  }
  Tensors states;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape shape = with_batch(x.shape()[0], shapes[i]);
    if (x.is_abstract()) {
      states.push_back(Tensor::abstract(shape, cell_node_->compute_dtype(), x.device()));
    } else if (settings_.stateful) {
      const Tensor all = c[kept_[i]];
      const int64_t rows = c.options().global_rows > 0 ? c.options().global_rows : x.shape()[0];
      if (all.shape()[0] != rows)
        throw ShapeError("the layer is stateful and was built for batches of " +
                         std::to_string(all.shape()[0]) + " rows, received " + std::to_string(rows));
      states.push_back(all.rows(c.options().first_row, x.shape()[0]).clone());
    } else {
      states.push_back(Tensor::zeros(shape, cell_node_->compute_dtype(), x.device()));
    }
  }
  return states;
}

/// Other replicas hold zeros where this one has its rows: the sum of all is the state of the whole batch.
void RecurrentNode::keep_states(Call& c, const Tensors& states) const {
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Tensor state = ops::cast(states[i].detached(), kept_[i].dtype());
    if (state.shape() == kept_[i].shape()) {
      c.assign(kept_[i], state);
      continue;
    }
    const Tensor all = Tensor::zeros(kept_[i].shape(), state.dtype(), state.device());
    if (state.num_elements() > 0) all.rows(c.options().first_row, state.shape()[0]).copy_from(state);
    c.assign(kept_[i], all);
  }
}

Outputs RecurrentNode::call(Call& c, Inputs inputs) const {
  // Keras calls the cell as a layer of its own, which may compute in another dtype than this one.
  const LayerAutocast autocast(c, *cell_node_);
  const CellSequence sequence{.x = ops::cast(inputs[0], cell_node_->compute_dtype()),
                              .states = first_states(c, inputs),
                              .mask = mask_in_use(inputs),
                              .return_sequences = settings_.return_sequences,
                              .go_backwards = settings_.go_backwards,
                              .zero_output_for_mask = settings_.zero_output_for_mask};
  Outputs outputs;
  if (sequence.x.is_abstract()) {
    outputs = run_abstract(c, sequence);
  } else {
    outputs = cell_node_->run(c, sequence);
    if (outputs.empty()) outputs = run_steps(c, sequence);
    if (settings_.stateful) keep_states(c, Tensors(outputs.begin() + 1, outputs.end()));
  }
  for (Tensor& output : outputs) output = ops::cast(output, compute_dtype());
  if (settings_.activity_regularizer) add_activity_loss(c, settings_.activity_regularizer, outputs[0]);
  if (!settings_.return_state) outputs.resize(1);
  return outputs;
}

Outputs RecurrentNode::run_abstract(Call& c, const CellSequence& sequence) const {
  const Tensor projected = cell_node_->project(c, sequence.x);
  const Tensor x = Tensor::abstract(projected.shape().without(1), projected.dtype(), projected.device());
  Outputs outputs = cell_node_->step(c, x, sequence.states, cell_node_->begin(c, sequence.states[0]));
  if (!settings_.return_sequences) return outputs;
  const Tensor& step = outputs[0];
  Shape shape{step.shape()[0], sequence.x.shape()[1]};
  for (int axis = 1; axis < step.rank(); ++axis) shape.append(step.shape()[axis]);
  outputs[0] = Tensor::abstract(shape, step.dtype(), step.device());
  return outputs;
}

namespace {

Tensors steps_of(const Tensor& x, bool reversed) {
  Tensors steps = x.defined() ? time_steps(x) : Tensors();
  if (reversed) std::reverse(steps.begin(), steps.end());
  return steps;
}

/// A mask (batch,) that broadcasts over `like`.
Tensor raised(const Tensor& mask, const Tensor& like) {
  Shape shape = mask.shape();
  while (shape.rank() < like.rank()) shape.append(1);
  return mask.with_shape(shape);
}

}  // namespace

Outputs RecurrentNode::run_steps(Call& c, const CellSequence& sequence) const {
  const Tensors steps = steps_of(cell_node_->project(c, sequence.x), settings_.go_backwards);
  const Tensors masks = steps_of(sequence.mask, settings_.go_backwards);
  const CellPass shared = cell_node_->begin(c, sequence.states[0]);
  Tensors states = sequence.states, outputs;
  for (size_t t = 0; t < steps.size(); ++t) {
    Outputs step = cell_node_->step(c, steps[t], states, shared);
    if (!masks.empty()) {
      const Tensor mask = raised(masks[t], step[0]);
      const bool before = !outputs.empty() && !settings_.zero_output_for_mask;
      const Tensor rest = before ? outputs.back() : Tensor::zeros({}, step[0].dtype(), step[0].device());
      step[0] = ops::where(mask, step[0], rest);
      for (size_t i = 0; i < states.size(); ++i)
        step[i + 1] = ops::where(raised(masks[t], states[i]), step[i + 1], states[i]);
    }
    if (!settings_.return_sequences) outputs.clear();
    outputs.push_back(step[0]);
    states.assign(step.begin() + 1, step.end());
  }
  if (steps.empty()) {
    outputs = run_abstract(c, {.x = sequence.x.as_abstract(), .states = sequence.states, .mask = {}});
    outputs[0] = Tensor::zeros(outputs[0].shape(), outputs[0].dtype(), sequence.x.device());
  } else {
    outputs = {settings_.return_sequences ? ops::stack(outputs, 1) : outputs.back()};
  }
  outputs.resize(1);
  outputs.insert(outputs.end(), states.begin(), states.end());
  return outputs;
}

void RecurrentNode::reset_state() const {
  for (const Variable& state : kept_) state.assign(Tensor::zeros(state.shape(), state.dtype()));
}

void RecurrentLayer::reset_state() const {
  if (const RecurrentNode* node = recurrent_node(*this)) node->reset_state();
}

Tensor detail::mask_in_use(Inputs inputs) {
  return inputs.size() == 1 || has_given_mask(inputs[0]) ? mask_of(inputs[0]) : Tensor();
}

bool detail::takes_initial_states(const Layer& layer) {
  return recurrent_node(layer) || (layer && layer.class_name() == "Bidirectional");
}

const RecurrentNode* detail::recurrent_node(const Layer& layer) {
  return layer ? dynamic_cast<const RecurrentNode*>(&layer.node()) : nullptr;
}

}  // namespace nyala
