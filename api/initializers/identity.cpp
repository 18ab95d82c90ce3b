#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/identity.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void IdentityConfig::fields(FieldVisitor& v) { v.field("gain", gain); }

namespace {

class IdentityNode final : public InitializerNode {
 public:
  explicit IdentityNode(const IdentityConfig& config) : config_(config) {}
  std::string class_name() const override { return "Identity"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  void fill(const Tensor& value, DrawStream&) const override {
    if (value.rank() != 2)
      throw ShapeError("Identity initializer: expected a shape of rank 2, received " +
                       value.shape().to_string());
    const int64_t columns = value.shape()[1];
    int64_t i = 0;
    fill_each(value, [&] {
      const bool diagonal = i / columns == i % columns;
      ++i;
      return diagonal ? config_.gain : 0.0;
    });
  }

 private:
  IdentityConfig config_;
};

}  // namespace

Identity::Identity(const Config& config) : Initializer(std::make_shared<IdentityNode>(config)) {}

}  // namespace nyala
