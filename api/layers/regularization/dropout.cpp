#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/dropout.h>

namespace nyala {

using namespace nyala::detail;

void DropoutConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("noise_shape", noise_shape);
  v.optional("seed", seed, -1);
}

namespace {

class DropoutNode final : public SeededNode {
 public:
  explicit DropoutNode(const DropoutConfig& config) : SeededNode(config.seed, "dropout"), config_(config) {
    check_fraction("Dropout", "rate", config.rate);
    for (int64_t size : config.noise_shape)
      if (size <= 0 && size != None)
        throw InvalidArgumentError("Dropout: expected sizes above 0 or None in noise_shape, received " +
                                   std::to_string(size));
  }
  std::string class_name() const override { return "Dropout"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.rate == 0.0) return x;
    const Shape noise(config_.noise_shape);
    return dropped(c, x, config_.rate,
                   config_.noise_shape.empty() ? 0 : ops::detail::dropout_noise_axes(x.shape(), noise));
  }

 private:
  DropoutConfig config_;
};

}  // namespace

Dropout::Dropout(const Config& config) : Layer(node_from<DropoutNode>(config)) {}

Dropout::Dropout(double rate, Config config) : Dropout(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
