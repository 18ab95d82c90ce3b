#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/ones.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class OnesNode final : public InitializerNode {
 public:
  std::string class_name() const override { return "Ones"; }
  void fill(const Tensor& value, DrawStream&) const override {
    fill_each(value, [] { return 1.0; });
  }
};

}  // namespace

Ones::Ones() : Initializer(std::make_shared<OnesNode>()) {}

}  // namespace nyala
