#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/regularization/gaussian_dropout.h>

#include <cmath>

#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void GaussianDropoutConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.optional("seed", seed, -1);
}

namespace {

class GaussianDropoutNode final : public SeededNode {
 public:
  explicit GaussianDropoutNode(const GaussianDropoutConfig& config)
      : SeededNode(config.seed, "gaussian_dropout"), config_(config) {
    if (!(config.rate >= 0 && config.rate < 1))
      throw InvalidArgumentError("GaussianDropout: expected rate in [0, 1), received " +
                                 number_text(config.rate));
  }
  std::string class_name() const override { return "GaussianDropout"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.rate == 0.0) return x;
    return x * noise(c, x, 1.0, std::sqrt(config_.rate / (1.0 - config_.rate)));
  }

 private:
  GaussianDropoutConfig config_;
};

}  // namespace

GaussianDropout::GaussianDropout(const Config& config) : Layer(node_from<GaussianDropoutNode>(config)) {}

GaussianDropout::GaussianDropout(double rate, Config config)
    : GaussianDropout(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
