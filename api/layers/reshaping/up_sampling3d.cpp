#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/up_sampling3d.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala {

using namespace nyala::detail;

void UpSampling3DConfig::fields(FieldVisitor& v) {
  visit_size(v, "size", size);
  v.field("data_format", data_format);
}

namespace {

class UpSampling3DNode : public LayerNode {
 public:
  explicit UpSampling3DNode(const UpSampling3DConfig& config) : config_(config) {
    check_positive("UpSampling3D", "size", config.size);
    check_either_data_format("UpSampling3D", config.data_format);
  }
  std::string class_name() const override { return "UpSampling3D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override {
    check_rank(input, 5, "(batch, depth, height, width, channels)");
  }

  Tensor call(Call&, const Tensor& x) const override {
    Tensor y = x;
    for (int axis = 3; axis > 0; --axis)
      y = ops::repeat(y, config_.size.to_array()[static_cast<size_t>(axis) - 1], axis);
    return y;
  }

 private:
  UpSampling3DConfig config_;
};

}  // namespace

UpSampling3D::UpSampling3D(const Config& config) : Layer(make_image_layer<UpSampling3DNode>(config)) {}

UpSampling3D::UpSampling3D(Size3D size, Config config)
    : UpSampling3D(with(std::move(config), &Config::size, size)) {}

}  // namespace nyala
