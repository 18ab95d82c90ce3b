#include <nyala/api/layers/preprocessing/cut_mix.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_mixing.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_patches.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void CutMixConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class CutMixNode final : public ImageMixing {
 public:
  explicit CutMixNode(const CutMixConfig& config)
      : ImageMixing(config.seed, "CutMix", config.data_format), config_(config) {
    config_.factor = standard_limits("CutMix", config.factor, 0.0);
  }
  std::string class_name() const override { return "CutMix"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDraws draws(Call& c, const Tensor& images) const override {
    ImageDraws out;
    out.all = uniform_for_all(c, images, {two_limits("CutMix", "factor", config_.factor)});
    out.gamma = log_gamma_for_each(c, images, ops::reshape(out.all + 1e-6, Shape()), 2);
    out.each = uniform_for_each(c, images, {{0.0, 1.0}, {0.0, 1.0}});
    return out;
  }
  Tensors mixed(const Tensors& own, const Tensors& partners, const ImageDraws& draws) const override {
    const int64_t height = own[0].shape()[1], width = own[0].shape()[2];
    const Tensor ratio = ops::sqrt(1.0 - beta_numbers(draws.gamma));
    const PatchSide columns = patch_side(ratio, column(draws.each, 0), width),
                    rows = patch_side(ratio, column(draws.each, 1), height);
    Tensors out = {ops::where(in_patches(columns, rows, height, width), partners[0], own[0])};
    if (own.size() == 1) return out;
    const Tensor area = (columns.end - columns.begin) * (rows.end - rows.begin);
    const Tensor weight = 1.0 - area / static_cast<double>(width * height);
    out.push_back(weighted(ops::cast(weight, own[1].dtype()), own[1], partners[1]));
    return out;
  }

 private:
  int num_draws() const override { return 3; }
  CutMixConfig config_;
};

}  // namespace

CutMix::CutMix(const Config& config) : Layer(node_from<CutMixNode>(config)) {}

CutMix::CutMix(const FactorRange& factor, Config config)
    : CutMix(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
