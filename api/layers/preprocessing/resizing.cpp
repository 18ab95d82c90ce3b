#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/resizing.h>

#include <utility>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void ResizingConfig::fields(FieldVisitor& v) {
  v.field("height", height);
  v.field("width", width);
  v.field("interpolation", interpolation);
  v.field("crop_to_aspect_ratio", crop_to_aspect_ratio);
  v.field("pad_to_aspect_ratio", pad_to_aspect_ratio);
  v.field("fill_mode", fill_mode);
  v.field("fill_value", fill_value);
  v.field("antialias", antialias);
  v.field("data_format", data_format);
}

namespace {

class ResizingNode final : public LayerNode {
 public:
  explicit ResizingNode(const ResizingConfig& config) : config_(config) {
    check_positive("Resizing", "height", config.height);
    check_positive("Resizing", "width", config.width);
    check_either_data_format("Resizing", config.data_format);
    if (config.fill_mode != "constant")
      throw InvalidArgumentError("Resizing: expected fill_mode 'constant', received " +
                                 in_quotes(config.fill_mode));
    if (config.crop_to_aspect_ratio && config.pad_to_aspect_ratio)
      throw InvalidArgumentError(
          "Resizing: expected one of crop_to_aspect_ratio and pad_to_aspect_ratio, "
          "received both");
    try {
      options_ = {.interpolation = ops::detail::interpolation_of(config.interpolation),
                  .antialias = config.antialias,
                  .crop_to_aspect_ratio = config.crop_to_aspect_ratio,
                  .pad_to_aspect_ratio = config.pad_to_aspect_ratio,
                  .fill_value = config.fill_value};
    } catch (const Error&) {
      rethrow_with_prefix("Resizing: ");
    }
  }
  std::string class_name() const override { return "Resizing"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_images(input); }

  Tensor call(Call&, const Tensor& x) const override {
    if (config_.data_format == "channels_first")
      return ops::moveaxis(resized(ops::moveaxis(x, -3, -1)), -1, -3);
    return resized(x);
  }

 private:
  Tensor resized(const Tensor& x) const {
    if (x.is_abstract()) return abstract_images(x, config_.height, config_.width);
    return ops::resize_images(x, config_.height, config_.width, options_);
  }

  ResizingConfig config_;
  ops::ResizeOptions options_;
};

}  // namespace

Resizing::Resizing(const Config& config) : Layer(node_from<ResizingNode>(config)) {}

Resizing::Resizing(int64_t height, int64_t width, Config config)
    : Resizing(with(std::move(config), &Config::height, height, &Config::width, width)) {}

}  // namespace nyala
