#include <nyala/api/layers/reshaping/cropping.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/edges_layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class CroppingNode : public EdgesNode {
 public:
  using EdgesNode::EdgesNode;

  Tensor call(Call&, const Tensor& x) const override {
    check_shape(x.shape());
    std::vector<ops::AxisRange> ranges{{}};
    for (const auto& [before, after] : layer_.edges)
      ranges.push_back({.start = before, .stop = after == 0 ? ops::kToEnd : -after});
    return ops::strided_slice(x, ranges);
  }

 private:
  void check_shape(const Shape& input) const override {
    EdgesNode::check_shape(input);
    for (size_t i = 0; i < layer_.edges.size(); ++i) {
      const auto& [before, after] = layer_.edges[i];
      const int64_t size = input[static_cast<int>(i) + 1];
      if (size != None && before + after >= size)
        throw ShapeError("expected an input with more than " + std::to_string(before + after) +
                         " elements along axis " + std::to_string(i + 1) + ", received shape " +
                         input.to_string());
    }
  }
};

}  // namespace

void Cropping1DConfig::fields(FieldVisitor& v) { visit_edges(v, "cropping", cropping); }

Cropping1D::Cropping1D(const Config& config)
    : Layer(make_edges_layer<CroppingNode>({"Cropping1D", config.cropping.list(), ""}, config)) {}

Cropping1D::Cropping1D(EdgeSizes<1> cropping, Config config)
    : Cropping1D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

void Cropping2DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "cropping", cropping);
  v.field("data_format", data_format);
}

Cropping2D::Cropping2D(const Config& config)
    : Layer(make_edges_layer<CroppingNode>({"Cropping2D", config.cropping.list(), config.data_format},
                                           config)) {}

Cropping2D::Cropping2D(EdgeSizes<2> cropping, Config config)
    : Cropping2D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

void Cropping3DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "cropping", cropping);
  v.field("data_format", data_format);
}

Cropping3D::Cropping3D(const Config& config)
    : Layer(make_edges_layer<CroppingNode>({"Cropping3D", config.cropping.list(), config.data_format},
                                           config)) {}

Cropping3D::Cropping3D(EdgeSizes<3> cropping, Config config)
    : Cropping3D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

}  // namespace nyala
