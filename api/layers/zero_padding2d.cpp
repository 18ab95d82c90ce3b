#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/zero_padding2d.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/pad.h>

namespace nyala {

void ZeroPadding2DConfig::fields(FieldVisitor& v) {
  visit_padding(v, "padding", padding);
  v.field("data_format", data_format);
}

namespace {

class ZeroPadding2DNode final : public LayerNode {
 public:
  explicit ZeroPadding2DNode(const ZeroPadding2DConfig& config) : config_(config) {
    check_data_format("ZeroPadding2D", config.data_format);
    for (const auto& [before, after] : {config.padding.rows(), config.padding.columns()})
      if (before < 0 || after < 0)
        throw InvalidArgumentError("ZeroPadding2D: expected padding >= 0, received (" +
                                   std::to_string(before) + ", " + std::to_string(after) + ")");
  }
  std::string class_name() const override { return "ZeroPadding2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder&, const Shape& input) override { check_image(input); }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override {
    const auto [top, bottom] = config_.padding.rows();
    const auto [left, right] = config_.padding.columns();
    return ops::pad(x, {{0, 0}, {top, bottom}, {left, right}, {0, 0}});
  }

 private:
  ZeroPadding2DConfig config_;
};

}  // namespace

ZeroPadding2D::ZeroPadding2D(const Config& config)
    : Layer(finish_layer(std::make_shared<ZeroPadding2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

ZeroPadding2D::ZeroPadding2D(PaddingSizes2D padding, Config config)
    : ZeroPadding2D([&] {
        config.padding = padding;
        return std::move(config);
      }()) {}

}  // namespace nyala
