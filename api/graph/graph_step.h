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
  std::vector<std::pair<int, int>> masks = {};        // input, value of the mask that it is given
  std::vector<size_t> bare = {};                      // inputs whose mask was taken off
  std::vector<int> last_uses = {};                    // values nobody reads after this step
  FusedParts fused = {};                              // of the neighbours, computed here
  std::shared_ptr<const FoldedLayer> folded = {};     // computes the step, with neighbours, if not null
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
/// For passes out of training without gradients: layers with kernels take over a BatchNormalization, an
/// addition and an activation where each is the only reader of the one before. No steps where there is
/// nothing to fold.
GraphPlan folded_plan(const GraphPlan& plan);

/// Gives back what the steps hold besides the variables.
void release_folded_weights(const GraphPlan& plan);

/// Whether `c` is a pass for folded_plan().
bool takes_folded_plan(const Call& c, const Tensor& input);

}  // namespace nyala
