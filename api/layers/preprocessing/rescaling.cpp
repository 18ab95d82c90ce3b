#include <nyala/api/base/shown_list.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/rescaling.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void visit_numbers(FieldVisitor& v, const char* name, ChannelNumbers& numbers) {
  std::vector<double> list = numbers.list();
  if (shown_and_changed(v, name, list)) numbers = ChannelNumbers(std::move(list));
}

}  // namespace

void RescalingConfig::fields(FieldVisitor& v) {
  visit_numbers(v, "scale", scale);
  visit_numbers(v, "offset", offset);
}

namespace {

class RescalingNode final : public LayerNode {
 public:
  explicit RescalingNode(const RescalingConfig& config) : config_(config) {
    if (config.scale.list().empty() || config.offset.list().empty())
      throw InvalidArgumentError("Rescaling: expected at least one number for scale and offset");
  }
  std::string class_name() const override { return "Rescaling"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override {
    for (const ChannelNumbers* numbers : {&config_.scale, &config_.offset}) {
      const auto count = static_cast<int64_t>(numbers->list().size());
      if (count != 1 && (input.empty() || (input.back() != None && input.back() != count)))
        throw ShapeError("expected an input whose last axis has " + std::to_string(count) +
                         " entries, one for each number; received shape " + input.to_string());
    }
  }

  Tensor call(Call&, const Tensor& input) const override {
    const Tensor x = ops::cast(input, compute_dtype());
    if (config_.scale.is_one() && config_.offset.is_one())
      return ops::affine(x, config_.scale.list()[0], config_.offset.list()[0]);
    return ops::add(ops::multiply(x, values(config_.scale, x)), values(config_.offset, x));
  }

 private:
  static Tensor values(const ChannelNumbers& numbers, const Tensor& x) {
    return ops::cast(Tensor::from(numbers.list()), x.dtype()).to(x.device());
  }

  RescalingConfig config_;
};

}  // namespace

Rescaling::Rescaling(const Config& config) : Layer(node_from<RescalingNode>(config)) {}

Rescaling::Rescaling(double scale, Config config)
    : Rescaling(with(std::move(config), &Config::scale, scale)) {}

}  // namespace nyala
