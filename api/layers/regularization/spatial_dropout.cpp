#include <nyala/api/layers/regularization/spatial_dropout.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/seeded_node.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class SpatialDropoutNode final : public SeededNode {
 public:
  SpatialDropoutNode(const SpatialDropoutKind& kind, std::function<void(FieldVisitor&)> fields)
      : SeededNode(kind.seed, "dropout"), kind_(kind), fields_(std::move(fields)) {
    check_fraction(kind.class_name, "rate", kind.rate);
    check_either_data_format(kind.class_name, kind.data_format);
  }
  std::string class_name() const override { return kind_.class_name; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { fields_(v); }

  void build(Builder&, const Shape& input) override {
    check_rank(input, kind_.spatial_axes + 2, "(the batch, the channels and their places)");
  }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || kind_.rate == 0.0) return x;
    const int first = kind_.data_format == "channels_first" ? 2 : 1;
    uint32_t shared = 0;
    for (int axis = first; axis < first + kind_.spatial_axes; ++axis) shared |= 1u << axis;
    return dropped(c, x, kind_.rate, shared);
  }

 private:
  SpatialDropoutKind kind_;
  std::function<void(FieldVisitor&)> fields_;
};

}  // namespace

std::shared_ptr<LayerNode> detail::make_spatial_dropout_node(const SpatialDropoutKind& kind,
                                                     std::function<void(FieldVisitor&)> fields) {
  return std::make_shared<SpatialDropoutNode>(kind, std::move(fields));
}

}  // namespace nyala
