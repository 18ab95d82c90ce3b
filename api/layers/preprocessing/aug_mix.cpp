#include <nyala/api/layers/preprocessing/aug_mix.h>

#include <cmath>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/augmentation_policy.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_augmentations.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void AugMixConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  v.field("num_chains", num_chains);
  v.field("chain_depth", chain_depth);
  visit_factor(v, "factor", factor);
  v.field("alpha", alpha);
  v.field("all_ops", all_ops);
  v.field("interpolation", interpolation);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class AugMixNode final : public ImageAugmentation {
 public:
  explicit AugMixNode(const AugMixConfig& config)
      : ImageAugmentation(config.seed, "AugMix", config.data_format), config_(config) {
    config_.factor = standard_limits("AugMix", config.factor, 0.0);
    check_positive("AugMix", "num_chains", config.num_chains);
    check_positive("AugMix", "chain_depth", config.chain_depth);
    if (!(config.alpha > 0.0) || !std::isfinite(config.alpha))
      throw InvalidArgumentError("AugMix: expected an alpha above 0, received " + number_text(config.alpha));
    const AugmentationPolicy policy = {config_.value_range, config_.factor, config_.interpolation};
    for (const PolicyStep step : augmix_steps(config.all_ops)) parts_.add(layer_of(step, policy));
  }
  std::string class_name() const override { return "AugMix"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {3});
  }

  /// Fractions for each place in a chain, which the layer there takes between its limits.
  ImageDrawRanges each() const override {
    return ImageDrawRanges(static_cast<size_t>(config_.num_chains * config_.chain_depth * kMostNumbers));
  }
  ImageDrawRanges all() const override {
    return ImageDrawRanges(static_cast<size_t>(config_.num_chains * config_.chain_depth),
                           {0.0, static_cast<double>(parts_.size() + 1)});
  }
  int64_t gammas() const override { return config_.num_chains + 2; }
  double gamma_alpha() const override { return config_.alpha; }

  Tensor changed(Call& c, const Tensor& images, const ImageDraws& draws) const override {
    const std::vector<float> choice = draws.all.to_vector<float>();
    const int64_t chains = config_.num_chains;
    const Tensor weights = ops::softmax(ops::slice_axis(draws.gamma, 1, {0, chains}));
    const Tensor own = ops::cast(ops::sigmoid(column(draws.gamma, chains) - column(draws.gamma, chains + 1)),
                                 images.dtype());
    Tensor others = ops::zeros_like(images);
    for (int64_t chain = 0; chain < chains; ++chain) {
      Tensor x = images;
      for (int64_t i = 0; i < config_.chain_depth; ++i)
        x = placed(c, x, choice, draws.each, chain * config_.chain_depth + i);
      others = others + x * per_image(column(weights, chain), images);
    }
    const Tensor one = per_image(own, images);
    const auto [least, most] = two_limits("AugMix", "value_range", config_.value_range);
    return ops::clip(one * images + (1.0 - one) * others, least, most);
  }

 private:
  static constexpr int64_t kMostNumbers = 3;  // RandomShear's

  /// What the layer in a place of a chain makes of x.
  Tensor placed(Call& c, const Tensor& x, const std::vector<float>& choice, const Tensor& fractions,
                int64_t place) const {
    const auto part = static_cast<size_t>(choice.at(static_cast<size_t>(place)));
    if (part >= parts_.size()) return x;
    Tensors numbers;
    for (const ops::UniformRange& range : parts_.each(part)) {
      const Tensor fraction = column(fractions, place * kMostNumbers + static_cast<int64_t>(numbers.size()));
      numbers.push_back(fraction * (range.high - range.low) + range.low);
    }
    return parts_.changed_by(c, x, part, numbers.empty() ? Tensor() : ops::concatenate(numbers, 1));
  }

  ImageAugmentations parts_;
  AugMixConfig config_;
};

}  // namespace

AugMix::AugMix(const Config& config) : Layer(node_from<AugMixNode>(config)) {}

}  // namespace nyala
