#include <nyala/api/layers/preprocessing/auto_contrast.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void AutoContrastConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
}

namespace {

class AutoContrastNode final : public ImageAugmentation {
 public:
  explicit AutoContrastNode(const AutoContrastConfig& config)
      : ImageAugmentation(0, "AutoContrast", config.data_format), config_(config) {
    config_.value_range = sorted_limits("AutoContrast", "value_range", config.value_range);
    values_ = two_limits("AutoContrast", "value_range", config_.value_range);
  }
  std::string class_name() const override { return "AutoContrast"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor changed(Call&, const Tensor& images, const ImageDraws&) const override { return unmoved(images); }

 private:
  bool acts_always() const override { return true; }
  Tensor unmoved(const Tensor& images) const override {
    const Tensor bytes = in_range(images, values_, kBytes);
    const Tensor low = ops::min(bytes, {-3, -2}, true), width = ops::max(bytes, {-3, -2}, true) - low;
    const Tensor flat = width == 0.0;
    const Tensor scale = 255.0 / ops::where(flat, 1.0, width);
    const Tensor spread = ops::clip(bytes * scale - low * scale, 0.0, 255.0);
    return ops::where(flat, images, in_range(spread, kBytes, values_));
  }

  ops::UniformRange values_;
  AutoContrastConfig config_;
};

}  // namespace

AutoContrast::AutoContrast(const Config& config) : Layer(node_from<AutoContrastNode>(config)) {}

}  // namespace nyala
