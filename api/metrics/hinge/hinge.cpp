#include <nyala/api/losses/hinge.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/hinge/hinge.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void HingeConfig::fields(FieldVisitor&) {}

Hinge::Hinge(const Config& config) : Metric(make_loss_metric("Hinge", config, nyala::Hinge())) {}

}  // namespace nyala::metrics
