#include <nyala/api/initializers/constant.h>
#include <nyala/api/initializers/fill.h>

namespace nyala {

using namespace nyala::detail;

void ConstantConfig::fields(FieldVisitor& v) { v.field("value", value); }

namespace {

class ConstantNode final : public InitializerNode {
 public:
  explicit ConstantNode(const ConstantConfig& config) : config_(config) {}
  std::string class_name() const override { return "Constant"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  void fill(const Tensor& value, DrawStream&) const override {
    fill_each(value, [&] { return config_.value; });
  }

 private:
  ConstantConfig config_;
};

}  // namespace

Constant::Constant(const Config& config) : Initializer(std::make_shared<ConstantNode>(config)) {}

Constant::Constant(double value) : Constant(Config{.value = value}) {}

}  // namespace nyala
