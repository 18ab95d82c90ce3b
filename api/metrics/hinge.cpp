#include <nyala/api/losses/hinge.h>
#include <nyala/api/metrics/hinge.h>
#include <nyala/api/metrics/mean_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void HingeConfig::fields(FieldVisitor&) {}

Hinge::Hinge(const Config& config) : Metric(make_loss_metric("Hinge", config, nyala::Hinge())) {}

}  // namespace nyala::metrics
