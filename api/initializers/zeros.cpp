#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/zeros.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class ZerosNode final : public InitializerNode {
 public:
  std::string class_name() const override { return "Zeros"; }
  void fill(const Tensor& value, DrawStream&) const override {
    fill_each(value, [] { return 0.0; });
  }
};

}  // namespace

Zeros::Zeros() : Initializer(std::make_shared<ZerosNode>()) {}

}  // namespace nyala
