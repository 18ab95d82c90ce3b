#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <nyala/api/graph/folded_layer.h>
#include <nyala/api/graph/graph.h>

namespace nyala {

namespace detail {
class PartChoices;
}  // namespace detail

/// In place of a value's number: the node holds the tensor, as in `x / 3.0`, or the mask.
inline constexpr int kConstant = -1;

/// One call of a graph, with its tensors numbered.
struct GraphStep {
  const GraphNode* node = nullptr;
  std::vector<int> inputs = {};
  int first_output = 0;
  std::vector<std::pair<int, int>> masks = {};     // input, value of the mask that it is given
  std::vector<size_t> bare = {};                   // inputs whose mask was taken off
  std::vector<int> last_uses = {};                 // values nobody reads after this step
  FusedParts fused = {};                           // of the neighbours, computed here
  std::shared_ptr<const FoldedLayer> folded = {};  // computes the step, with neighbours, if not null
  /// In place of `folded` where a gradient is to flow through: the steps that it stands for, each the only
  /// reader of the one before.
  std::shared_ptr<const std::vector<GraphStep>> apart = {};
  std::shared_ptr<detail::PartChoices> choices = {};  // of an op with constants
};

/// The steps of a graph in order, and the values that it gives.
struct GraphPlan {
  std::vector<GraphStep> steps = {};
  std::vector<int> outputs = {};
  int num_values = 0;
};

/// Runs a step on `values`, of which it writes its outputs.
void run_step(Call& c, const GraphStep& step, Tensors& values);
/// Runs all steps, letting go of values that nobody reads any more.
void run_steps(Call& c, const std::vector<GraphStep>& steps, Tensors& values);

/// Sets last_uses.
void find_last_uses(GraphPlan& plan);

/// Who reads each value: `count` readers, of which step `reader` is the last; the plan's outputs and masks
/// count, too.
struct ValueUse {
  int count = 0;
  int reader = -1;
};
std::vector<ValueUse> find_uses(const GraphPlan& plan);

/// A layer whose only reader is an activation that it can compute itself takes that step over.
void fuse_activations(GraphPlan& plan);
/// Zeros around an image are left to the convolution that alone reads them, or to the MaxPooling2D where the
/// image comes from a relu.
void fuse_paddings(GraphPlan& plan);

/// A step of a folded plan that stands for several ones of the plan before, by their numbers there.
struct FoldedGroup {
  size_t step = 0;
  std::vector<size_t> parts = {};
};

/// A plan where nothing can be folded has no steps.
struct FoldedPlan {
  GraphPlan plan = {};
  std::vector<FoldedGroup> groups = {};
};

/// For passes out of training without gradients: layers with kernels take over a BatchNormalization, an
/// addition and an activation where each is the only reader of the one before.
FoldedPlan folded_plan(const GraphPlan& plan);
/// For steps of training: `plan`, of which `folded` is made, with those groups folded that `chosen` has.
/// Each stands where its last part stood, and has them `apart`.
GraphPlan partly_folded_plan(const GraphPlan& plan, const FoldedPlan& folded,
                             const std::vector<bool>& chosen);

/// Whether `c` is a pass for folded_plan(), or else for partly_folded_plan().
bool takes_folded_plan(const Call& c, const Tensor& input);
bool takes_partly_folded_plan(const Call& c, const Tensor& input);

}  // namespace nyala
