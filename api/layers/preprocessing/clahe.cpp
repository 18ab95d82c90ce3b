#include <nyala/api/layers/preprocessing/clahe.h>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_tiles.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void ContrastLimitedAdaptiveHistogramEqualizationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  v.field("clip_limit", clip_limit);
  visit_size(v, "tile_grid_size", tile_grid_size);
  v.field("data_format", data_format);
}

namespace {

class ContrastLimitedAdaptiveHistogramEqualizationNode final : public ImageAugmentation {
 public:
  explicit ContrastLimitedAdaptiveHistogramEqualizationNode(
      const ContrastLimitedAdaptiveHistogramEqualizationConfig& config)
      : ImageAugmentation(0, "ContrastLimitedAdaptiveHistogramEqualization", config.data_format),
        config_(config) {
    values_ = two_limits("ContrastLimitedAdaptiveHistogramEqualization", "value_range", config.value_range);
    check_positive("ContrastLimitedAdaptiveHistogramEqualization", "tile_grid_size", config.tile_grid_size);
  }
  std::string class_name() const override { return "ContrastLimitedAdaptiveHistogramEqualization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor changed(Call&, const Tensor& images, const ImageDraws&) const override { return unmoved(images); }

 private:
  bool acts_always() const override { return true; }
  Tensor unmoved(const Tensor& images) const override {
    if (images.is_abstract() || images.num_elements() == 0) return images;
    const bool one = images.rank() == 3;
    const Tensor batch = at_least_float32(one ? ops::expand_dims(images, 0) : images).detached();
    const Tensor bytes = equalized_by_tiles(
        in_range(batch, values_, kBytes),
        {config_.tile_grid_size.rows(), config_.tile_grid_size.columns(), config_.clip_limit});
    const Tensor result = ops::cast(in_range(bytes, kBytes, values_), images.dtype());
    return one ? ops::squeeze(result, {0}) : result;
  }

  ops::UniformRange values_;
  ContrastLimitedAdaptiveHistogramEqualizationConfig config_;
};

}  // namespace

ContrastLimitedAdaptiveHistogramEqualization::ContrastLimitedAdaptiveHistogramEqualization(
    const Config& config)
    : Layer(node_from<ContrastLimitedAdaptiveHistogramEqualizationNode>(config)) {}

}  // namespace nyala
