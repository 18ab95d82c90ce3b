#include <nyala/api/layers/regularization/spatial_dropout.h>

#include <functional>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/seeded_node.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// What tells SpatialDropout1D to 3D apart.
struct SpatialDropoutKind {
  const char* class_name;
  int spatial_axes;
  double rate;
  std::string data_format;
  int64_t seed;
};

/// In training whole channels become 0 at chance `rate`.
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

template <class Config>
std::shared_ptr<LayerNode> spatial_dropout_node(const SpatialDropoutKind& kind, const Config& config) {
  return finish_layer(std::make_shared<SpatialDropoutNode>(kind, detail::fields_of(config)),
                      options_of(config));
}

}  // namespace

void SpatialDropout1DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.optional("seed", seed, -1);
}

SpatialDropout1D::SpatialDropout1D(const Config& config)
    : Layer(spatial_dropout_node({"SpatialDropout1D", 1, config.rate, "", config.seed}, config)) {}

SpatialDropout1D::SpatialDropout1D(double rate, Config config)
    : SpatialDropout1D(with(std::move(config), &Config::rate, rate)) {}

void SpatialDropout2DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

SpatialDropout2D::SpatialDropout2D(const Config& config)
    : Layer(spatial_dropout_node({"SpatialDropout2D", 2, config.rate, config.data_format, config.seed},
                                 config)) {}

SpatialDropout2D::SpatialDropout2D(double rate, Config config)
    : SpatialDropout2D(with(std::move(config), &Config::rate, rate)) {}

void SpatialDropout3DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

SpatialDropout3D::SpatialDropout3D(const Config& config)
    : Layer(spatial_dropout_node({"SpatialDropout3D", 3, config.rate, config.data_format, config.seed},
                                 config)) {}

SpatialDropout3D::SpatialDropout3D(double rate, Config config)
    : SpatialDropout3D(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
