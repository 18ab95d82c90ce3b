#include <nyala/api/layers/preprocessing/center_crop.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void CenterCropConfig::fields(FieldVisitor& v) {
  v.field("height", height);
  v.field("width", width);
  v.field("data_format", data_format);
}

namespace {

class CenterCropNode final : public LayerNode {
 public:
  explicit CenterCropNode(const CenterCropConfig& config) : config_(config) {
    check_positive("CenterCrop", "height", config.height);
    check_positive("CenterCrop", "width", config.width);
    check_either_data_format("CenterCrop", config.data_format);
  }
  std::string class_name() const override { return "CenterCrop"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_images(input); }

  Tensor call(Call&, const Tensor& input) const override {
    const Tensor x = ops::cast(input, compute_dtype());
    if (config_.data_format == "channels_first")
      return ops::moveaxis(cropped(ops::moveaxis(x, -3, -1)), -1, -3);
    return cropped(x);
  }

 private:
  Tensor cropped(const Tensor& x) const {
    if (x.is_abstract()) return abstract_images(x, config_.height, config_.width);
    const int64_t rows = x.shape()[-3] - config_.height, columns = x.shape()[-2] - config_.width;
    if (rows >= 0 && columns >= 0) return cut_out(x, {rows / 2, columns / 2, config_.height, config_.width});
    const ImageBox box = centred_box(x.shape()[-3], x.shape()[-2], config_.height, config_.width);
    return ops::resize_images(cut_out(x, box), config_.height, config_.width);
  }

  CenterCropConfig config_;
};

}  // namespace

CenterCrop::CenterCrop(const Config& config) : Layer(node_from<CenterCropNode>(config)) {}

CenterCrop::CenterCrop(int64_t height, int64_t width, Config config)
    : CenterCrop(with(std::move(config), &Config::height, height, &Config::width, width)) {}

}  // namespace nyala
