#include <nyala/api/layers/reshaping/zero_padding.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/edges_layer.h>
#include <nyala/backend/ops/shape/pad.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class PaddingNode : public EdgesNode, public Fusable {
 public:
  using EdgesNode::EdgesNode;

  Tensor call(Call&, const Tensor& x) const override {
    std::vector<std::pair<int64_t, int64_t>> widths{{0, 0}};
    for (const auto& [before, after] : layer_.edges) widths.emplace_back(before, after);
    widths.emplace_back(0, 0);
    return ops::pad(x, widths);
  }
  const Fusable* fusable() const override { return this; }
  FusedParts does() const override {
    if (layer_.edges.size() != 2) return {};
    const auto [top, bottom] = layer_.edges[0];
    const auto [left, right] = layer_.edges[1];
    return {.padding = ops::Padding(static_cast<int>(top), static_cast<int>(bottom), static_cast<int>(left),
                                    static_cast<int>(right))};
  }
};

std::vector<EdgePair> edges_of(const PaddingSizes2D& padding) {
  const auto [top, bottom] = padding.rows();
  const auto [left, right] = padding.columns();
  return {{top, bottom}, {left, right}};
}

}  // namespace

void ZeroPadding1DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "padding", padding);
  v.field("data_format", data_format);
}

ZeroPadding1D::ZeroPadding1D(const Config& config)
    : Layer(make_edges_layer<PaddingNode>({"ZeroPadding1D", config.padding.list(), config.data_format},
                                          config)) {}

ZeroPadding1D::ZeroPadding1D(EdgeSizes<1> padding, Config config)
    : ZeroPadding1D(with(std::move(config), &Config::padding, std::move(padding))) {}

void ZeroPadding2DConfig::fields(FieldVisitor& v) {
  visit_padding(v, "padding", padding);
  v.field("data_format", data_format);
}

ZeroPadding2D::ZeroPadding2D(const Config& config)
    : Layer(make_edges_layer<PaddingNode>({"ZeroPadding2D", edges_of(config.padding), config.data_format},
                                          config)) {}

ZeroPadding2D::ZeroPadding2D(PaddingSizes2D padding, Config config)
    : ZeroPadding2D(with(std::move(config), &Config::padding, padding)) {}

void ZeroPadding3DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "padding", padding);
  v.field("data_format", data_format);
}

ZeroPadding3D::ZeroPadding3D(const Config& config)
    : Layer(make_edges_layer<PaddingNode>({"ZeroPadding3D", config.padding.list(), config.data_format},
                                          config)) {}

ZeroPadding3D::ZeroPadding3D(EdgeSizes<3> padding, Config config)
    : ZeroPadding3D(with(std::move(config), &Config::padding, std::move(padding))) {}

}  // namespace nyala
