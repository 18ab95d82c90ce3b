#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/regularization/spatial_dropout1d.h>

#include <nyala/api/layers/regularization/spatial_dropout.h>

namespace nyala {

using namespace nyala::detail;

void SpatialDropout1DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.optional("seed", seed, -1);
}

SpatialDropout1D::SpatialDropout1D(const Config& config)
    : Layer(finish_layer(make_spatial_dropout_node({"SpatialDropout1D", 1, config.rate, "", config.seed},
                                                   detail::fields_of(config)),
                         options_of(config))) {}

SpatialDropout1D::SpatialDropout1D(double rate, Config config)
    : SpatialDropout1D(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
