#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nyala/api/model/functional.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

/// A chain of layers, traced as a graph when built: when it begins with an Input, else for the first data it
/// sees. predict and
/// evaluate fold layers as those of a functional model do.
class SequentialNode final : public ModelNode {
 public:
  explicit SequentialNode(const std::vector<Layer>& layers);

  std::string class_name() const override { return "Sequential"; }
  /// As in Keras, where the call of a model has an argument `mask`: its first layer sees it.
  bool uses_mask() const override { return true; }
  void build(Builder& builder, const Shapes& inputs) override;
  Tensor call(Call& c, const Tensor& input) const override;

  std::vector<Layer> layers() const override { return chain_; }
  std::vector<std::string> output_names(size_t num_outputs) const override;
  Shapes input_shapes() const override;
  const Tensors& inputs() const override { return inputs_; }
  const Tensors& outputs() const override { return outputs_; }

  /// Appends a layer. Throws StateError once the model was built for data, InvalidArgumentError for a name
  /// that occurs already, for an Input in the middle or for a layer that holds this model.
  void add(const Layer& layer);
  /// Removes the last layer.
  void pop();
  /// What data is converted to: the Input's dtype, or that in which the first layer computes.
  DType input_dtype() const;
  bool converts_inputs() const override { return false; }
  /// layers() without a copy.
  const std::vector<Layer>& chain() const { return chain_; }
  /// The Input it begins with, or an empty handle.
  const Layer& input() const { return input_; }

 private:
  /// The plan of the calls traced so far: made by the first pass, not by each of many add().
  const FusedGraph& planned() const;
  void plan() const;
  /// Data in the dtype of the Input.
  Tensor converted(const Tensor& input) const;

  Layer input_;                                          // empty without an Input
  std::vector<Layer> chain_;                             // Keras' layers: without the Input
  Tensors inputs_, outputs_;                             // one each, or none before it is built
  std::vector<std::shared_ptr<const GraphNode>> nodes_;  // calls of chain_; value i goes into layer i
  std::set<std::string> names_;                          // of chain_
  mutable FusedGraph graph_;
  mutable Mutex planning_;
  mutable std::atomic<bool> is_planned_{false};
};

}  // namespace nyala
