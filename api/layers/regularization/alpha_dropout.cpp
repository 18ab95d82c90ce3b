#include <nyala/api/layers/regularization/alpha_dropout.h>

#include <cmath>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>

namespace nyala {

using namespace nyala::detail;

void AlphaDropoutConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("noise_shape", noise_shape);
  v.optional("seed", seed, -1);
}

namespace {

class AlphaDropoutNode final : public SeededNode {
 public:
  explicit AlphaDropoutNode(const AlphaDropoutConfig& config)
      : SeededNode(config.seed, "alpha_dropout"), config_(config) {
    if (!(config.rate >= 0 && config.rate < 1))
      throw InvalidArgumentError("AlphaDropout: expected rate in [0, 1), received " +
                                 number_text(config.rate));
  }
  std::string class_name() const override { return "AlphaDropout"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.rate == 0.0) return x;
    const uint32_t shared = config_.noise_shape.empty()
                                ? 0
                                : ops::detail::dropout_noise_axes(x.shape(), Shape(config_.noise_shape));
    const Tensor draws = dropped(c, ops::ones_like(x), config_.rate, shared);
    const Tensor kept = ops::cast(ops::greater(draws, ops::zeros_like(draws)), x.dtype());
    constexpr double kFloor = -1.7580993408473766;  // -alpha * scale of selu
    const double rate = config_.rate, scale = 1.0 / std::sqrt((1.0 - rate) * (1.0 + rate * kFloor * kFloor));
    return (x * kept + (1.0 - kept) * kFloor) * scale - scale * kFloor * rate;
  }

 private:
  AlphaDropoutConfig config_;
};

}  // namespace

AlphaDropout::AlphaDropout(const Config& config) : Layer(node_from<AlphaDropoutNode>(config)) {}

AlphaDropout::AlphaDropout(double rate, Config config)
    : AlphaDropout(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
