#include <nyala/api/layers/spatial_dropout2d.h>

#include <nyala/api/layers/spatial_dropout.h>

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
          {config.name, config.trainable, config.dtype})) {}

SpatialDropout2D::SpatialDropout2D(double rate, Config config)
    : SpatialDropout2D([&] {
        config.rate = rate;
        return std::move(config);
      }()) {}

}  // namespace nyala
