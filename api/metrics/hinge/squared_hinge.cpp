#include <nyala/api/losses/squared_hinge.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/hinge/squared_hinge.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SquaredHingeConfig::fields(FieldVisitor&) {}

SquaredHinge::SquaredHinge(const Config& config)
    : Metric(make_loss_metric("SquaredHinge", config, nyala::SquaredHinge())) {}

}  // namespace nyala::metrics
