#include <nyala/api/layers/preprocessing/mix_up.h>

#include <cmath>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_mixing.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

void MixUpConfig::fields(FieldVisitor& v) {
  v.field("alpha", alpha);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class MixUpNode final : public ImageMixing {
 public:
  explicit MixUpNode(const MixUpConfig& config)
      : ImageMixing(config.seed, "MixUp", config.data_format), config_(config) {
    if (!(config.alpha > 0.0) || !std::isfinite(config.alpha))
      throw InvalidArgumentError("MixUp: expected an alpha above 0, received " + number_text(config.alpha));
  }
  std::string class_name() const override { return "MixUp"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDraws draws(Call& c, const Tensor& images) const override {
    const Tensor alpha = Tensor::full({}, config_.alpha, DType::float32, images.device());
    return {.gamma = log_gamma_for_each(c, images, alpha, 2)};
  }
  Tensors mixed(const Tensors& own, const Tensors& partners, const ImageDraws& draws) const override {
    const Tensor weight = beta_numbers(draws.gamma);
    Tensors out = {weighted(per_image(weight, own[0]), own[0], partners[0])};
    if (own.size() > 1) out.push_back(weighted(ops::cast(weight, own[1].dtype()), own[1], partners[1]));
    return out;
  }

 private:
  int num_draws() const override { return 1; }
  MixUpConfig config_;
};

}  // namespace

MixUp::MixUp(const Config& config) : Layer(node_from<MixUpNode>(config)) {}

}  // namespace nyala
