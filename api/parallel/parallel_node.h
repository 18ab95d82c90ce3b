#pragma once

#include <string>
#include <vector>

#include <nyala/api/model/model.h>
#include <nyala/api/parallel/device_slices.h>

namespace nyala {

/// A model that runs another one on slices of its inputs, one per device. It owns no weight: files, summaries
/// and what compile() sets are the template's.
class ParallelNode final : public ModelNode {
 public:
  /// `class_name` as Keras or PyTorch calls the kind of model. Throws StateError for a model of a strategy
  /// with several replicas.
  ParallelNode(const Model& net, std::string class_name, DeviceSlicesOptions options);

  std::string class_name() const override { return class_name_; }
  bool takes_many() const override { return net_.node().takes_many(); }
  bool converts_inputs() const override { return false; }
  void build(Builder& builder, const Shapes& inputs) override;
  Outputs call(Call& c, Inputs inputs) const override;
  Tensor call(Call& c, const Tensor& input) const override;

  /// The template's, with whole batches.
  Tensor compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) override;
  void compute_metrics(ReplicaStep& step, const Batch& batch, const Tensors& predictions) override;

  std::vector<Layer> layers() const override { return {net_}; }
  /// The template's; one that it gives several outputs gets "_1", "_2" behind it, as in Keras'
  /// multi_gpu_model.
  std::vector<std::string> output_names(size_t num_outputs) const override;
  std::vector<std::string> input_names() const override { return net_.model_node().input_names(); }
  Shapes input_shapes() const override { return net_.model_node().input_shapes(); }
  size_t num_inputs() const override { return net_.model_node().num_inputs(); }
  const Tensors& inputs() const override { return net_.model_node().inputs(); }
  const Tensors& outputs() const override { return net_.model_node().outputs(); }
  std::vector<Device> placed_devices() const override { return slices_.devices(); }
  std::shared_ptr<ModelNode> template_model() const override;
  std::string summary_note() const override;

 private:
  Outputs computed(Call& c, const Tensors& inputs) const;

  Model net_;
  std::string class_name_;
  DeviceSlices slices_;
};

/// A model around such a node that belongs to the strategy of `net`.
Model make_parallel_model(const Model& net, const std::string& class_name,
                          const DeviceSlicesOptions& options);

}  // namespace nyala
