#include <nyala/api/layers/activations/leaky_relu.h>
#include <nyala/api/layers/base/config_fields.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/ops/elementwise/activation.h>

namespace nyala {

using namespace nyala::detail;

void LeakyReLUConfig::fields(FieldVisitor& v) { v.field("negative_slope", negative_slope); }

namespace {

class LeakyReLUNode final : public LayerNode {
 public:
  explicit LeakyReLUNode(const LeakyReLUConfig& config) : config_(config) {
    check_not_negative("LeakyReLU", "negative_slope", config.negative_slope);
  }
  std::string class_name() const override { return "LeakyReLU"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call&, const Tensor& x) const override { return ops::leaky_relu(x, config_.negative_slope); }

 private:
  LeakyReLUConfig config_;
};

}  // namespace

LeakyReLU::LeakyReLU(const Config& config) : Layer(node_from<LeakyReLUNode>(config)) {}

LeakyReLU::LeakyReLU(double negative_slope, Config config)
    : LeakyReLU(with(std::move(config), &Config::negative_slope, negative_slope)) {}

}  // namespace nyala
