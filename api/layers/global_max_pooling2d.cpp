#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/global_max_pooling2d.h>
#include <nyala/backend/ops/reduction.h>

namespace nyala {

void GlobalMaxPooling2DConfig::fields(FieldVisitor& v) {
  v.field("data_format", data_format);
  v.field("keepdims", keepdims);
}

namespace {

class GlobalMaxPooling2DNode final : public LayerNode {
 public:
  explicit GlobalMaxPooling2DNode(const GlobalMaxPooling2DConfig& config) : config_(config) {
    check_data_format("GlobalMaxPooling2D", config.data_format);
  }
  std::string class_name() const override { return "GlobalMaxPooling2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder&, const Shape& input) override { check_image(input); }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override { return ops::max(x, {1, 2}, config_.keepdims); }

 private:
  GlobalMaxPooling2DConfig config_;
};

}  // namespace

GlobalMaxPooling2D::GlobalMaxPooling2D(const Config& config)
    : Layer(finish_layer(std::make_shared<GlobalMaxPooling2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

}  // namespace nyala
