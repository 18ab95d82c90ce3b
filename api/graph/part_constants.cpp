// A replica runs a graph on its part of the batch. Which constants beside it (`x + array`) it takes by rows:
// - of a layer, by what the argument means (layer_takes_by_rows): layers draw and keep state, so that none is
//   run to find out;
// - of an op, by shape (PartShapes): of all ways, whole or by rows, the one whose result on the part is that
//   on the whole batch but for the number of rows; whole where both are. PartChoices keeps it with the step.
#include <nyala/api/graph/part_constants.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala::detail {

namespace {

bool takes_constants_by_rows(const GraphNode& node) {
  static const std::set<std::string>& merging = *new std::set<std::string>{
      "Add", "Subtract",    "Multiply",  "Average",           "Maximum",          "Minimum",
      "Dot", "Concatenate", "Attention", "AdditiveAttention", "CategoryEncoding", "Functional"};
  return node.layer && (node.layer.node().takes_named_tensors() || takes_initial_states(node.layer) ||
                        merging.contains(node.layer.class_name()));
}

constexpr size_t kMostChosen = 6;  // constants of one step that may have the batch's rows

/// The part's rows of a constant that has the batch's, one or several for each of them.
Tensor part_of(const CallOptions& of, const Tensor& constant) {
  const int64_t each = constant.shape()[0] / of.global_rows;
  const Tensor part = constant.rows(of.first_row * each, of.rows * each);
  const Tensor mask = mask_of(constant);
  return mask.defined() ? with_mask(part, part_of(of, mask)) : part;
}

/// How one result on the part compares with that on the whole batch.
enum class Fit { rows, other_axis, none };

/// Shapes of what one step gives on the whole batch and on a part of it.
class PartShapes {
 public:
  PartShapes(const CallOptions& of, const GraphStep& step, const Tensors& whole)
      : of_(of), node_(*step.node), whole_(whole) {
    for (size_t i = 0; i < whole.size(); ++i) {
      const bool is_constant = step.inputs[i] == kConstant;
      if (is_constant) constants_.push_back(i);
      const int axis = is_constant ? -1 : axis_of_rows(node_.inputs[i].shape(), whole[i].shape());
      if (axis < 0) continue;
      const int64_t size = of.rows > 0 ? whole[i].shape()[axis] / of.rows : 1;
      if (batched_.empty()) rows_of_row_ = size;
      batched_.push_back({i, axis, size * of.global_rows});
    }
  }

  bool need_a_choice() const {
    const auto has_axes = [this](size_t i) { return whole_[i].rank() > 0; };
    return !batched_.empty() && std::ranges::any_of(constants_, has_axes);
  }

  /// Constants that may have the rows of the batch.
  std::vector<size_t> with_rows() const {
    std::vector<size_t> found;
    for (const size_t i : constants_)
      if (whole_[i].rank() > 0 && whole_[i].shape()[0] == of_.global_rows * rows_of_row_) found.push_back(i);
    return found;
  }

  Shapes on_whole_batch() const {
    Tensors inputs = whole_;
    for (const auto& [i, axis, size] : batched_)
      inputs[i] = Tensor::abstract(whole_[i].shape().with(axis, size), whole_[i].dtype(), whole_[i].device());
    return shapes_of(std::move(inputs));
  }

  /// Nothing where the part's shapes do not go together.
  std::optional<Shapes> on_part(const Tensors& inputs) const {
    try {
      return shapes_of(inputs);
    } catch (const InvalidArgumentError&) {
      return {};
    }
  }

  /// The worst of all outputs.
  Fit fit(const Shapes& whole, const Shapes& part) const {
    Fit worst = whole.size() == part.size() ? Fit::rows : Fit::none;
    for (size_t i = 0; i < whole.size() && worst != Fit::none; ++i)
      worst = std::max(worst, fit(whole[i], part[i]));
    return worst;
  }

 private:
  /// The axis of the batch in a value that was traced as `traced`: the first one, or the only one of unknown
  /// size. -1: there is none.
  int axis_of_rows(const Shape& traced, const Shape& shape) const {
    if (traced.rank() != shape.rank() || shape.rank() == 0) return -1;
    const auto is_of_part = [&](int axis) {
      return of_.rows == 0 ? shape[axis] == 0 : shape[axis] % of_.rows == 0;
    };
    if (traced[0] == -1) return is_of_part(0) ? 0 : -1;
    if (traced[0] == of_.global_rows && shape[0] == of_.rows) return 0;
    if (std::count(traced.begin(), traced.end(), -1) != 1) return -1;
    const int axis = static_cast<int>(std::find(traced.begin(), traced.end(), -1) - traced.begin());
    return shape[axis] == of_.rows ? axis : -1;
  }

  /// Numbers of a file's constants may be read for a shape; those of the graph's values are not there yet.
  Shapes shapes_of(Tensors inputs) const {
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node_.operation || std::ranges::find(constants_, i) == constants_.end())
        inputs[i] = inputs[i].as_abstract();
      pointers.push_back(&inputs[i]);
    }
    Tensors outputs(node_.outputs.size());
    if (node_.operation) {
      outputs = node_.operation->run(inputs);
    } else {
      dispatch(*node_.op, node_.descriptor, pointers, outputs);
    }
    Shapes shapes;
    for (const Tensor& output : outputs) shapes.push_back(output.shape());
    return shapes;
  }

  Fit fit(const Shape& whole, const Shape& part) const {
    if (whole.rank() != part.rank()) return Fit::none;
    for (int axis = 0; axis < whole.rank(); ++axis)
      if (whole.with(axis, 0) == part.with(axis, 0) && part[axis] != whole[axis] &&
          part[axis] * of_.global_rows == whole[axis] * of_.rows)
        return axis == 0 ? Fit::rows : Fit::other_axis;
    return Fit::none;
  }

  /// An input of the batch: where its rows are, and how many there are on the whole batch.
  struct Batched {
    size_t input = 0;
    int axis = 0;
    int64_t whole_size = 0;
  };

  const CallOptions& of_;
  const GraphNode& node_;
  const Tensors& whole_;
  std::vector<size_t> constants_;
  std::vector<Batched> batched_;
  int64_t rows_of_row_ = 1;  // more where a Reshape made rows of other axes
};

[[noreturn]] void refuse_part(const CallOptions& of, const GraphStep& step, const Tensors& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += (text.empty() ? "" : ", ") + inputs[i].shape().to_string() +
            (step.inputs[i] == kConstant ? " (a constant)" : "");
  throw ShapeError(
      "operation " + in_quotes(step.node->name) + " (" + step.node->op_class + "): on " +
      std::to_string(of.rows) + " of the batch's " + std::to_string(of.global_rows) +
      " rows it gives other numbers than on the whole batch, whether a constant is taken whole or by rows; "
      "it received " +
      text + "; use one device, or make the constant an input of the model");
}

/// The inputs of a step that go by rows.
std::vector<size_t> find_inputs_by_rows(const CallOptions& of, const GraphStep& step, const Tensors& whole) {
  const PartShapes shapes(of, step, whole);
  if (!shapes.need_a_choice()) return {};
  const std::vector<size_t> may_be = shapes.with_rows();
  const Shapes expected = shapes.on_whole_batch();
  std::optional<std::vector<size_t>> best;
  Fit best_fit = Fit::none;
  for (size_t chosen = 0; chosen < size_t{1} << std::min(may_be.size(), kMostChosen); ++chosen) {
    Tensors inputs = whole;
    std::vector<size_t> by_rows;
    for (size_t i = 0; i < std::min(may_be.size(), kMostChosen); ++i)
      if (chosen >> i & 1) by_rows.push_back(may_be[i]);
    for (const size_t i : by_rows) inputs[i] = part_of(of, inputs[i]);
    const std::optional<Shapes> given = shapes.on_part(inputs);
    if (!given || shapes.fit(expected, *given) >= best_fit) continue;
    best_fit = shapes.fit(expected, *given);
    best = std::move(by_rows);
  }
  if (!best) refuse_part(of, step, whole);
  return *best;
}

}  // namespace

bool layer_takes_by_rows(const GraphNode& node, size_t input, const Tensor& constant, const Tensor& x) {
  if (!node.layer) return false;  // inputs_of_part() looks at what the op gives
  if (!takes_constants_by_rows(node))
    throw ShapeError("layer " + in_quotes(node.layer.name()) + " (" + node.layer.class_name() +
                     ") is called with a constant of shape " + constant.shape().to_string() +
                     ", which has as many rows as the batch, and on several replicas it is not known whether "
                     "each is that of a row of the batch or all are for every row; give it as an Input where "
                     "they are the batch's, else with an axis of size 1 in front or as a weight");
  const auto names = node.arguments ? node.arguments->tensors : std::vector<std::string>();
  if (input < names.size() && names[input] == "attention_mask") return constant.rank() > 2 * (x.rank() - 2);
  return true;
}

bool layer_takes_mask_by_rows(const GraphNode& node, const Tensor& mask, const Tensor& x) {
  return node.layer.class_name() != "Softmax" || mask.rank() == x.rank();
}

bool is_part_beside_whole(const CallOptions& of, const Tensor& constant, const Tensor& x) {
  return of.global_rows > 1 && of.rows != of.global_rows && x.rank() > 0 && x.shape()[0] == of.rows &&
         constant.rank() > 0 && constant.shape()[0] == of.global_rows;
}

/// What was found for one size of the batch and of the part.
struct PartChoices::Known {
  int64_t rows = 0, global_rows = 0;
  Shapes shapes;
  std::shared_ptr<const std::vector<size_t>> by_rows;

  bool is_for(const CallOptions& of, const Tensors& whole) const {
    return rows == of.rows && global_rows == of.global_rows &&
           std::ranges::equal(whole, shapes, {}, [](const Tensor& input) { return input.shape(); });
  }
};

PartChoices::PartChoices() = default;
PartChoices::~PartChoices() = default;

std::shared_ptr<const std::vector<size_t>> PartChoices::by_rows(const CallOptions& of, const GraphStep& step,
                                                                const Tensors& whole) {
  {
    const std::lock_guard lock(mutex_);
    for (const Known& one : known_)
      if (one.is_for(of, whole)) return one.by_rows;
  }
  Known found{of.rows, of.global_rows};
  found.by_rows = std::make_shared<const std::vector<size_t>>(find_inputs_by_rows(of, step, whole));
  for (const Tensor& input : whole) found.shapes.push_back(input.shape());
  constexpr size_t kMostKnown = 16;  // sizes of batches that differ without end are found anew
  const std::lock_guard lock(mutex_);
  if (known_.size() == kMostKnown) known_.clear();
  known_.push_back(std::move(found));
  return known_.back().by_rows;
}

Tensors inputs_of_part(const CallOptions& of, const GraphStep& step, Tensors whole) {
  if (!step.choices || of.global_rows <= 1 || of.rows == of.global_rows) return whole;
  for (const size_t i : *step.choices->by_rows(of, step, whole)) whole[i] = part_of(of, whole[i]);
  return whole;
}

}  // namespace nyala::detail
