#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/regularization/spatial_dropout2d.h>

#include <nyala/api/layers/regularization/spatial_dropout.h>

namespace nyala {

using namespace nyala::detail;

void SpatialDropout2DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

SpatialDropout2D::SpatialDropout2D(const Config& config)
    : Layer(finish_layer(
          make_spatial_dropout_node({"SpatialDropout2D", 2, config.rate, config.data_format, config.seed},
                                    detail::fields_of(config)),
          options_of(config))) {}

SpatialDropout2D::SpatialDropout2D(double rate, Config config)
    : SpatialDropout2D(with(std::move(config), &Config::rate, rate)) {}

}  // namespace nyala
