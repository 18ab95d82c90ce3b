#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/layer_autocast.h>
#include <nyala/api/layers/rnn/stacked_rnn_cells.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void StackedRNNCellsConfig::fields(FieldVisitor& v) { v.field("cells", cells); }

namespace {

class StackedCellsNode final : public RecurrentCellNode {
 public:
  explicit StackedCellsNode(const StackedRNNCellsConfig& config) : config_(config) {
    if (config.cells.empty()) throw InvalidArgumentError("StackedRNNCells: expected at least one cell");
    for (const Layer& cell : config.cells) nodes_.push_back(&recurrent_cell("StackedRNNCells", cell));
    for (size_t i = 0; i < config.cells.size(); ++i) track("cells/" + group_name(i), config.cells[i]);
  }
  std::string class_name() const override { return "StackedRNNCells"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  std::vector<int64_t> state_sizes() const override {
    std::vector<int64_t> sizes;
    for (const RecurrentCellNode* cell : nodes_)
      for (const int64_t size : cell->state_sizes()) sizes.push_back(size);
    return sizes;
  }
  Shapes state_shapes() const override {
    Shapes shapes;
    for (const RecurrentCellNode* cell : nodes_)
      for (const Shape& shape : cell->state_shapes()) shapes.push_back(shape);
    return shapes;
  }
  int64_t output_size() const override { return nodes_.back()->output_size(); }
  Layer clone() const override {
    StackedRNNCellsConfig config = config_;
    for (size_t i = 0; i < nodes_.size(); ++i) config.cells[i] = clone_of(*nodes_[i]);
    return StackedRNNCells(config);
  }

  void build(Builder& b, const Shape& input) override {
    Shape shape = input;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      b.build(config_.cells[i], shape);
      shape = Shape{input[0], nodes_[i]->output_size()};
    }
  }

  Tensor project(Call& c, const Tensor& x) const override {
    const LayerAutocast autocast(c, *nodes_[0]);
    return nodes_[0]->project(c, ops::cast(x, nodes_[0]->compute_dtype()));
  }

  CellPass begin(Call& c, const Tensor& state) const override {
    CellPass pass;
    for (const RecurrentCellNode* cell : nodes_) {
      const LayerAutocast autocast(c, *cell);
      pass.inner.push_back(cell->begin(c, like_states_of(*cell, state)));
    }
    return pass;
  }

  Outputs step(Call& c, const Tensor& x, Inputs states, const CellPass& pass) const override {
    Tensor value = x;
    Outputs next(1);
    size_t first = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const LayerAutocast autocast(c, *nodes_[i]);
      const DType dtype = nodes_[i]->compute_dtype();
      if (i > 0)
        value = ops::squeeze(nodes_[i]->project(c, ops::expand_dims(ops::cast(value, dtype), 1)), {1});
      const size_t count = nodes_[i]->state_sizes().size();
      Tensors own(states.begin() + static_cast<ptrdiff_t>(first),
                  states.begin() + static_cast<ptrdiff_t>(first + count));
      for (Tensor& state : own) state = ops::cast(state, dtype);
      const Outputs out = nodes_[i]->step(c, value, own, pass.inner[i]);
      value = out[0];
      next.insert(next.end(), out.begin() + 1, out.end());
      first += count;
    }
    next[0] = value;
    return next;
  }

 private:
  /// Keras numbers the groups of a list by class: "lstm_cell", "lstm_cell_1".
  std::string group_name(size_t index) const {
    const std::string base = snake_case(config_.cells[index].class_name());
    int same = 0;
    for (size_t i = 0; i < index; ++i) same += snake_case(config_.cells[i].class_name()) == base;
    return same == 0 ? base : base + "_" + std::to_string(same);
  }

  /// A tensor of the shape of a cell's first state; only its shape matters.
  static Tensor like_states_of(const RecurrentCellNode& cell, const Tensor& state) {
    const Shape shape{state.shape()[0], cell.state_sizes().front()};
    const DType dtype = cell.compute_dtype();
    if (state.is_abstract()) return Tensor::abstract(shape, dtype, state.device());
    return Tensor::empty(shape, dtype, state.device());
  }

  StackedRNNCellsConfig config_;
  std::vector<const RecurrentCellNode*> nodes_;
};

}  // namespace

StackedRNNCells::StackedRNNCells(const Config& config) : Layer(node_from<StackedCellsNode>(config)) {}

}  // namespace nyala
