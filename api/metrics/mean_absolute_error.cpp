#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/api/metrics/mean_absolute_error.h>
#include <nyala/api/metrics/mean_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void MeanAbsoluteErrorConfig::fields(FieldVisitor&) {}

MeanAbsoluteError::MeanAbsoluteError(const Config& config)
    : Metric(make_loss_metric("MeanAbsoluteError", config, nyala::MeanAbsoluteError())) {}

}  // namespace nyala::metrics
