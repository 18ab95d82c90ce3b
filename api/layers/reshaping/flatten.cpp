#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/flatten.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void FlattenConfig::fields(FieldVisitor& v) { v.field("data_format", data_format); }

namespace {

class FlattenNode final : public LayerNode {
 public:
  explicit FlattenNode(const FlattenConfig& config) : config_(config) {
    check_either_data_format("Flatten", config.data_format);
  }
  std::string class_name() const override { return "Flatten"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override {
    if (input.rank() < 1) throw ShapeError("expected an input of rank 1 or more, received a scalar");
  }

  Tensor call(Call&, const Tensor& x) const override {
    const bool is_first = config_.data_format == "channels_first" && x.rank() > 2;
    return ops::flatten(is_first ? ops::moveaxis(x, 1, -1) : x);
  }

 private:
  FlattenConfig config_;
};

}  // namespace

Flatten::Flatten(const Config& config) : Layer(node_from<FlattenNode>(config)) {}

}  // namespace nyala
