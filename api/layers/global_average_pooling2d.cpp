#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/global_average_pooling2d.h>
#include <nyala/backend/ops/reduction.h>

namespace nyala {

void GlobalAveragePooling2DConfig::fields(FieldVisitor& v) {
  v.field("data_format", data_format);
  v.field("keepdims", keepdims);
}

namespace {

class GlobalAveragePooling2DNode final : public LayerNode {
 public:
  explicit GlobalAveragePooling2DNode(const GlobalAveragePooling2DConfig& config) : config_(config) {
    check_data_format("GlobalAveragePooling2D", config.data_format);
  }
  std::string class_name() const override { return "GlobalAveragePooling2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder&, const Shape& input) override { check_image(input); }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override { return ops::mean(x, {1, 2}, config_.keepdims); }

 private:
  GlobalAveragePooling2DConfig config_;
};

}  // namespace

GlobalAveragePooling2D::GlobalAveragePooling2D(const Config& config)
    : Layer(finish_layer(std::make_shared<GlobalAveragePooling2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

}  // namespace nyala
