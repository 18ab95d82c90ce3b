#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/cropping3d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void Cropping3DConfig::fields(FieldVisitor& v) {
  visit_edges(v, "cropping", cropping);
  v.field("data_format", data_format);
}

Cropping3D::Cropping3D(const Config& config)
    : Layer(finish_layer(make_cropping_node({"Cropping3D", config.cropping.list(), config.data_format},
                                            detail::fields_of(config)),
                         options_of(config))) {}

Cropping3D::Cropping3D(EdgeSizes<3> cropping, Config config)
    : Cropping3D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

}  // namespace nyala
