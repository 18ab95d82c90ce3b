#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/zero_padding2d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void ZeroPadding2DConfig::fields(FieldVisitor& v) {
  visit_padding(v, "padding", padding);
  v.field("data_format", data_format);
}

namespace {

std::vector<EdgePair> edges_of(const PaddingSizes2D& padding) {
  const auto [top, bottom] = padding.rows();
  const auto [left, right] = padding.columns();
  return {{top, bottom}, {left, right}};
}

}  // namespace

ZeroPadding2D::ZeroPadding2D(const Config& config)
    : Layer(finish_layer(make_padding_node({"ZeroPadding2D", edges_of(config.padding), config.data_format},
                                           detail::fields_of(config)),
                         options_of(config))) {}

ZeroPadding2D::ZeroPadding2D(PaddingSizes2D padding, Config config)
    : ZeroPadding2D(with(std::move(config), &Config::padding, padding)) {}

}  // namespace nyala
