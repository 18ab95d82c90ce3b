#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/regularization/gaussian_noise.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void GaussianNoiseConfig::fields(FieldVisitor& v) {
  v.field("stddev", stddev);
  v.optional("seed", seed, -1);
}

namespace {

class GaussianNoiseNode final : public SeededNode {
 public:
  explicit GaussianNoiseNode(const GaussianNoiseConfig& config)
      : SeededNode(config.seed, "gaussian_noise"), config_(config) {
    check_fraction("GaussianNoise", "stddev", config.stddev);
  }
  std::string class_name() const override { return "GaussianNoise"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.stddev == 0.0) return x;
    return x + noise(c, x, 0.0, config_.stddev);
  }

 private:
  GaussianNoiseConfig config_;
};

}  // namespace

GaussianNoise::GaussianNoise(const Config& config) : Layer(node_from<GaussianNoiseNode>(config)) {}

GaussianNoise::GaussianNoise(double stddev, Config config)
    : GaussianNoise(with(std::move(config), &Config::stddev, stddev)) {}

}  // namespace nyala
