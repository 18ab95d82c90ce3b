#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/zero_padding3d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void ZeroPadding3DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "padding", padding);
  v.field("data_format", data_format);
}

ZeroPadding3D::ZeroPadding3D(const Config& config)
    : Layer(finish_layer(make_padding_node({"ZeroPadding3D", config.padding.list(), config.data_format},
                                           detail::fields_of(config)),
                         options_of(config))) {}

ZeroPadding3D::ZeroPadding3D(EdgeSizes<3> padding, Config config)
    : ZeroPadding3D(with(std::move(config), &Config::padding, std::move(padding))) {}

}  // namespace nyala
