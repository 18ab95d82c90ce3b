#include <nyala/api/initializers/glorot_normal.h>

namespace nyala {

using namespace nyala::detail;

GlorotNormal::GlorotNormal(const Config& config)
    : Initializer(variance_scaling_variant(
          "GlorotNormal", {.scale = 1.0, .mode = "fan_avg", .distribution = "truncated_normal"}, config)) {}

}  // namespace nyala
