#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/softmax.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/softmax.h>

namespace nyala {

void SoftmaxConfig::fields(FieldVisitor& v) { visit_axes(v, "axis", axis); }

namespace {

class SoftmaxNode final : public LayerNode {
 public:
  explicit SoftmaxNode(const SoftmaxConfig& config) : config_(config) {
    if (config.axis.list().empty()) throw InvalidArgumentError("Softmax: expected an axis, received none");
  }
  std::string class_name() const override { return "Softmax"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override {
    check_floating(x);
    return ops::softmax(x, config_.axis);
  }

 private:
  SoftmaxConfig config_;
};

}  // namespace

Softmax::Softmax(const Config& config)
    : Layer(finish_layer(std::make_shared<SoftmaxNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Softmax::Softmax(Axes axis, Config config)
    : Softmax([&] {
        config.axis = std::move(axis);
        return std::move(config);
      }()) {}

}  // namespace nyala
