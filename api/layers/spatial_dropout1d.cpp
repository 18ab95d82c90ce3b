#include <nyala/api/layers/spatial_dropout1d.h>

#include <nyala/api/layers/spatial_dropout.h>

namespace nyala {

using namespace nyala::detail;

void SpatialDropout1DConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.optional("seed", seed, -1);
}

SpatialDropout1D::SpatialDropout1D(const Config& config)
    : Layer(finish_layer(make_spatial_dropout_node({"SpatialDropout1D", 1, config.rate, "", config.seed},
                                                   detail::fields_of(config)),
                         {config.name, config.trainable, config.dtype})) {}

SpatialDropout1D::SpatialDropout1D(double rate, Config config)
    : SpatialDropout1D([&] {
        config.rate = rate;
        return std::move(config);
      }()) {}

}  // namespace nyala
