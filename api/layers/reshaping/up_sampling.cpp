#include <nyala/api/layers/reshaping/up_sampling.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala {

using namespace nyala::detail;

void UpSampling1DConfig::fields(FieldVisitor& v) { v.field("size", size); }

namespace {

class UpSampling1DNode final : public LayerNode {
 public:
  explicit UpSampling1DNode(const UpSampling1DConfig& config) : config_(config) {
    check_positive("UpSampling1D", "size", Size<1>(config.size));
  }
  std::string class_name() const override { return "UpSampling1D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_rank(input, 3, "(batch, steps, channels)"); }

  Tensor call(Call&, const Tensor& x) const override {
    return ops::repeat(x, config_.size, 1);
  }

 private:
  UpSampling1DConfig config_;
};

}  // namespace

UpSampling1D::UpSampling1D(const Config& config) : Layer(node_from<UpSampling1DNode>(config)) {}

UpSampling1D::UpSampling1D(int64_t size, Config config)
    : UpSampling1D(with(std::move(config), &Config::size, size)) {}

void UpSampling2DConfig::fields(FieldVisitor& v) {
  visit_size(v, "size", size);
  v.field("data_format", data_format);
  v.field("interpolation", interpolation);
}

namespace {

class UpSampling2DNode : public LayerNode {
 public:
  explicit UpSampling2DNode(const UpSampling2DConfig& config)
      : config_(config), interpolation_(kind_of(config.interpolation)) {
    check_positive("UpSampling2D", "size", config.size);
    check_either_data_format("UpSampling2D", config.data_format);
  }
  std::string class_name() const override { return "UpSampling2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_image(input); }

  Tensor call(Call&, const Tensor& x) const override {
    const auto [rows, columns] = config_.size.to_array();
    if (interpolation_ == ops::Interpolation::nearest)
      return ops::repeat(ops::repeat(x, rows, 1), columns, 2);
    const Shape& shape = x.shape();
    const int64_t height = shape[1] == None ? None : shape[1] * rows;
    const int64_t width = shape[2] == None ? None : shape[2] * columns;
    if (x.is_abstract()) return Tensor::abstract({shape[0], height, width, shape[3]}, x.dtype(), x.device());
    return ops::resize_images(x, height, width, {.interpolation = interpolation_});
  }

 private:
  static ops::Interpolation kind_of(const std::string& name) {
    try {
      return ops::detail::interpolation_of(name);
    } catch (const Error&) {
      rethrow_with_prefix("UpSampling2D: ");
    }
  }

  UpSampling2DConfig config_;
  ops::Interpolation interpolation_;
};

}  // namespace

UpSampling2D::UpSampling2D(const Config& config) : Layer(make_image_layer<UpSampling2DNode>(config)) {}

UpSampling2D::UpSampling2D(Size2D size, Config config)
    : UpSampling2D(with(std::move(config), &Config::size, size)) {}

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
