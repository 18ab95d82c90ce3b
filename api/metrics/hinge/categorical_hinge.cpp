#include <nyala/api/losses/categorical_hinge.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/hinge/categorical_hinge.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void CategoricalHingeConfig::fields(FieldVisitor&) {}

CategoricalHinge::CategoricalHinge(const Config& config)
    : Metric(make_loss_metric("CategoricalHinge", config, nyala::CategoricalHinge())) {}

}  // namespace nyala::metrics
