#include <nyala/api/layers/activations/elu.h>
#include <nyala/api/layers/base/config_fields.h>

#include <nyala/backend/ops/elementwise/activation.h>

namespace nyala {

using namespace nyala::detail;

void ELUConfig::fields(FieldVisitor& v) { v.field("alpha", alpha); }

namespace {

class ELUNode final : public LayerNode {
 public:
  explicit ELUNode(const ELUConfig& config) : config_(config) {}
  std::string class_name() const override { return "ELU"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call&, const Tensor& x) const override { return ops::elu(x, config_.alpha); }

 private:
  ELUConfig config_;
};

}  // namespace

ELU::ELU(const Config& config) : Layer(node_from<ELUNode>(config)) {}

ELU::ELU(double alpha, Config config) : ELU(with(std::move(config), &Config::alpha, alpha)) {}

}  // namespace nyala
