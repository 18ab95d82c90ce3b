#include <optional>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/lambda.h>
#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void LambdaConfig::fields(FieldVisitor&) {}

namespace {

class LambdaNode final : public LayerNode {
 public:
  explicit LambdaNode(Lambda::Function function) : function_(std::move(function)) {
    check_is_function(function_, "Lambda");
  }
  explicit LambdaNode(ActivationArgument named) : named_(std::move(named)) {
    if (named_->name() == "function" && !named_->is_custom()) throw_empty_function("Lambda");
    function_ = [this](const Tensors& x) {
      if (x.size() != 1)
        throw InvalidArgumentError("the function takes one tensor, received " + std::to_string(x.size()));
      return Tensors{(*named_)(x[0])};
    };
  }
  std::string class_name() const override { return "Lambda"; }
  void fields(FieldVisitor& v) override {
    if (!named_)
      throw InvalidArgumentError(
          "a Lambda of several tensors is a C++ function, which no file can hold; write it as a layer of "
          "your "
          "own and register_serializable it, or save_weights");
    v.field("function", *named_);
  }
  bool takes_many() const override { return true; }

  void build(Builder&, const Shapes&) override {}

  Outputs call(Call&, Inputs inputs) const override {
    return function_(Tensors(inputs.begin(), inputs.end()));
  }

 private:
  Lambda::Function function_;
  std::optional<ActivationArgument> named_;  // of one tensor
};

}  // namespace

Lambda::Lambda(Function function, Config config)
    : Layer(finish_layer(std::make_shared<LambdaNode>(std::move(function)), options_of(config))) {}

Lambda::Lambda(ActivationArgument function, Config config)
    : Layer(finish_layer(std::make_shared<LambdaNode>(std::move(function)), options_of(config))) {}

}  // namespace nyala
