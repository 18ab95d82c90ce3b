#include <nyala/api/initializers/he_normal.h>

namespace nyala {

using namespace nyala::detail;

HeNormal::HeNormal(const Config& config)
    : Initializer(variance_scaling_variant(
          "HeNormal", {.scale = 2.0, .mode = "fan_in", .distribution = "truncated_normal"}, config)) {}

}  // namespace nyala
