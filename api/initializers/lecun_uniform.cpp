#include <nyala/api/initializers/lecun_uniform.h>

namespace nyala {

using namespace nyala::detail;

LecunUniform::LecunUniform(const Config& config)
    : Initializer(variance_scaling_variant(
          "LecunUniform", {.scale = 1.0, .mode = "fan_in", .distribution = "uniform"}, config)) {}

}  // namespace nyala
