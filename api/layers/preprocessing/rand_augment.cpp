#include <nyala/api/layers/preprocessing/rand_augment.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/augmentation_policy.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_augmentations.h>

namespace nyala {

using namespace nyala::detail;

void RandAugmentConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  v.field("num_ops", num_ops);
  visit_factor(v, "factor", factor);
  v.field("interpolation", interpolation);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandAugmentNode final : public ImageAugmentation {
 public:
  explicit RandAugmentNode(const RandAugmentConfig& config)
      : ImageAugmentation(config.seed, "RandAugment", config.data_format), config_(config) {
    config_.factor = standard_limits("RandAugment", config.factor, 0.0);
    check_not_negative("RandAugment", "num_ops", static_cast<double>(config.num_ops));
    const AugmentationPolicy policy = {config_.value_range, config_.factor, config_.interpolation};
    for (const PolicyStep step : kRandAugmentSteps) parts_.add(layer_of(step, policy));
  }
  std::string class_name() const override { return "RandAugment"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {3});
  }

  ImageDrawRanges each() const override { return parts_.each(); }
  ImageDrawRanges all() const override {
    return ImageDrawRanges(static_cast<size_t>(config_.num_ops), {0.0, static_cast<double>(parts_.size())});
  }
  Tensor changed(Call& c, const Tensor& images, const ImageDraws& draws) const override {
    Tensor x = images;
    if (config_.num_ops == 0) return x;
    for (const float number : draws.all.to_vector<float>())
      x = parts_.changed(c, x, static_cast<size_t>(number), draws.each);
    return x;
  }

 private:
  ImageAugmentations parts_;
  RandAugmentConfig config_;
};

}  // namespace

RandAugment::RandAugment(const Config& config) : Layer(node_from<RandAugmentNode>(config)) {}

}  // namespace nyala
