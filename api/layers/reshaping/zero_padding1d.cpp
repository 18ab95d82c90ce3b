#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/zero_padding1d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void ZeroPadding1DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "padding", padding);
  v.field("data_format", data_format);
}

ZeroPadding1D::ZeroPadding1D(const Config& config)
    : Layer(finish_layer(make_padding_node({"ZeroPadding1D", config.padding.list(), config.data_format},
                                           detail::fields_of(config)),
                         options_of(config))) {}

ZeroPadding1D::ZeroPadding1D(EdgeSizes<1> padding, Config config)
    : ZeroPadding1D(with(std::move(config), &Config::padding, std::move(padding))) {}

}  // namespace nyala
