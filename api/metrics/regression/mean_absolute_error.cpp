#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/mean_absolute_error.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void MeanAbsoluteErrorConfig::fields(FieldVisitor&) {}

MeanAbsoluteError::MeanAbsoluteError(const Config& config)
    : Metric(make_loss_metric("MeanAbsoluteError", config, nyala::MeanAbsoluteError())) {}

}  // namespace nyala::metrics
