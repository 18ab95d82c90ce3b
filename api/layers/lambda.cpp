#include <nyala/api/layers/lambda.h>
#include <nyala/backend/core/error.h>

namespace nyala {

void LambdaConfig::fields(FieldVisitor&) {}

namespace {

class LambdaNode final : public LayerNode {
 public:
  LambdaNode(Lambda::Function function, const LambdaConfig& config)
      : function_(std::move(function)), config_(config) {
    if (!function_) throw InvalidArgumentError("Lambda: expected a function, received an empty one");
  }
  std::string class_name() const override { return "Lambda"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool takes_many() const override { return true; }

  using LayerNode::build;
  void build(Builder&, const Shapes&) override {}

  using LayerNode::call;
  Outputs call(Call&, Inputs inputs) const override {
    return function_(Tensors(inputs.begin(), inputs.end()));
  }

 private:
  Lambda::Function function_;
  LambdaConfig config_;
};

}  // namespace

Lambda::Lambda(Function function, Config config)
    : Layer(finish_layer(std::make_shared<LambdaNode>(std::move(function), config),
                         {config.name, config.trainable, config.dtype})) {}

const Tensor& Lambda::single(const Tensors& x) {
  if (x.size() != 1)
    throw InvalidArgumentError("the function takes one tensor, received " + std::to_string(x.size()));
  return x[0];
}

}  // namespace nyala
