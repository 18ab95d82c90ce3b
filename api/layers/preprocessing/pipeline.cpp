#include <nyala/api/layers/preprocessing/pipeline.h>

#include <nyala/api/base/class_name.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void PipelineConfig::fields(FieldVisitor& v) { v.field("layers", layers); }

namespace {

class PipelineNode final : public LayerNode {
 public:
  explicit PipelineNode(const PipelineConfig& config) : config_(config) {
    if (config.layers.empty()) throw InvalidArgumentError("Pipeline: expected at least one layer");
    for (size_t i = 0; i < config.layers.size(); ++i) {
      if (!config.layers[i])
        throw InvalidArgumentError("Pipeline: expected layers, received an empty handle");
      track("layers/" + group_name(i), config.layers[i]);
    }
  }
  std::string class_name() const override { return "Pipeline"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool uses_mask() const override { return true; }
  bool takes_many() const override { return has_several_; }

  void build(Builder& b, const Shapes& inputs) override {
    Shapes shapes = inputs;
    for (const Layer& layer : config_.layers) {
      b.build(layer, shapes);
      shapes = layer.compute_output_shapes(shapes);
    }
    has_several_ = inputs.size() > 1 || shapes.size() > 1;
  }

  Tensor call(Call& c, const Tensor& input) const override { return call(c, Inputs(&input, 1)).front(); }
  Outputs call(Call& c, Inputs inputs) const override {
    Outputs tensors(inputs.begin(), inputs.end());
    for (const Layer& layer : config_.layers) tensors = layer(c, Inputs(tensors));
    return tensors;
  }

 private:
  /// As files of Keras name the layers of a list: by their classes, counted.
  std::string group_name(size_t index) const {
    const std::string base = snake_case(config_.layers[index].class_name());
    int same = 0;
    for (size_t i = 0; i < index; ++i) same += snake_case(config_.layers[i].class_name()) == base;
    return same == 0 ? base : base + "_" + std::to_string(same);
  }

  PipelineConfig config_;
  bool has_several_ = false;
};

}  // namespace

Pipeline::Pipeline(const Config& config) : Layer(node_from<PipelineNode>(config)) {}

}  // namespace nyala
