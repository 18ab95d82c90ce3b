#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/masking.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void MaskingConfig::fields(FieldVisitor& v) { v.field("mask_value", mask_value); }

namespace {

class MaskingNode final : public LayerNode {
 public:
  explicit MaskingNode(const MaskingConfig& config) : config_(config) {}
  std::string class_name() const override { return "Masking"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool supports_masking() const override { return true; }
  bool makes_mask() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t) const override { return {counted(inputs[0], false)}; }

  Tensor call(Call&, const Tensor& x) const override {
    return ops::where(counted(x, true), x, Tensor::zeros({}, x.dtype(), x.device()));
  }

 private:
  Tensor counted(const Tensor& x, bool keepdims) const {
    return ops::any(ops::not_equal(x, config_.mask_value), {-1}, keepdims);
  }

  MaskingConfig config_;
};

}  // namespace

Masking::Masking(const Config& config) : Layer(node_from<MaskingNode>(config)) {}

Masking::Masking(double mask_value, Config config)
    : Masking(with(std::move(config), &Config::mask_value, mask_value)) {}

}  // namespace nyala
