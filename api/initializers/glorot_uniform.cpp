#include <nyala/api/initializers/glorot_uniform.h>

namespace nyala {

using namespace nyala::detail;

GlorotUniform::GlorotUniform(const Config& config)
    : Initializer(variance_scaling_variant(
          "GlorotUniform", {.scale = 1.0, .mode = "fan_avg", .distribution = "uniform"}, config)) {}

}  // namespace nyala
