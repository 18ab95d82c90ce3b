#include <nyala/api/initializers/he_uniform.h>

namespace nyala {

using namespace nyala::detail;

HeUniform::HeUniform(const Config& config)
    : Initializer(variance_scaling_variant(
          "HeUniform", {.scale = 2.0, .mode = "fan_in", .distribution = "uniform"}, config)) {}

}  // namespace nyala
