#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/cropping1d.h>

#include <nyala/api/layers/base/edges_layer.h>

namespace nyala {

using namespace nyala::detail;

void Cropping1DConfig::fields(FieldVisitor& v) { visit_edges(v, "cropping", cropping); }

Cropping1D::Cropping1D(const Config& config)
    : Layer(finish_layer(
          make_cropping_node({"Cropping1D", config.cropping.list(), ""}, detail::fields_of(config)),
          options_of(config))) {}

Cropping1D::Cropping1D(EdgeSizes<1> cropping, Config config)
    : Cropping1D(with(std::move(config), &Config::cropping, std::move(cropping))) {}

}  // namespace nyala
