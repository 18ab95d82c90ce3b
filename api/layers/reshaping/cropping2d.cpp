#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/cropping2d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void Cropping2DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "cropping", cropping);
  v.field("data_format", data_format);
}

Cropping2D::Cropping2D(const Config& config)
    : Layer(finish_layer(make_cropping_node({"Cropping2D", config.cropping.list(), config.data_format},
                                            detail::fields_of(config)),
                         options_of(config))) {}

Cropping2D::Cropping2D(EdgeSizes<2> cropping, Config config)
    : Cropping2D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

}  // namespace nyala
