#include <nyala/api/initializers/lecun_normal.h>

namespace nyala {

using namespace nyala::detail;

LecunNormal::LecunNormal(const Config& config)
    : Initializer(variance_scaling_variant(
          "LecunNormal", {.scale = 1.0, .mode = "fan_in", .distribution = "truncated_normal"}, config)) {}

}  // namespace nyala
